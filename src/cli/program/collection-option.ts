import { Option } from 'commander'

/** `--collection`, of every command that works on one. */
export function collectionOption(): Option {
  const option = new Option('--table, --collection <name>', 'collection (default: CEPE_TABLE)')
  // The earlier name is understood, not shown.
  option.flags = '--collection <name>'
  return option
}
