import type { FidelityCase } from '../contract.ts'
import { DOCX_CASES, SHARED_DOCX_CASES } from './docx.ts'
import { EPUB_CASES } from './epub.ts'
import { FRONT_MATTER_CASES } from './front-matter.ts'
import { HTML_CASES, SHARED_HTML_CASES } from './html.ts'
import { MARKDOWN_CASES } from './markdown.ts'
import { OFFICE_CASES } from './office.ts'
import { PDF_CASES, SHARED_PDF_CASES } from './pdf.ts'
import { SPLITTING_CASES } from './splitting.ts'
import { TEXT_CASES } from './text.ts'
import { ENCODING_CASES, TEXT_KINDS } from './texts.ts'

/** Cases by kind of file. */
export const CASES: Readonly<Record<string, readonly FidelityCase[]>> = {
  docx: DOCX_CASES,
  'docx of ../shared': SHARED_DOCX_CASES,
  encoding: ENCODING_CASES,
  epub: EPUB_CASES,
  'front matter': FRONT_MATTER_CASES,
  html: HTML_CASES,
  'html of ../shared': SHARED_HTML_CASES,
  markdown: MARKDOWN_CASES,
  office: OFFICE_CASES,
  pdf: PDF_CASES,
  'pdf of ../shared': SHARED_PDF_CASES,
  splitting: SPLITTING_CASES,
  text: TEXT_CASES,
  texts: TEXT_KINDS,
}
