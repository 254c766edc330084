/** Limits of parsing a file: its pages, and characters (UTF-16 code units) of its text. Errors name the one exceeded. */
export const DOCUMENT_LIMITS = { pages: 2000, characters: 10_000_000 }

/** Limits of OCR: pages of a document, and pixels of a page's picture. */
export const OCR_LIMITS = { pages: 200, pixels: 40_000_000 }

/** Sent by the process that reads a file when it begins to recognise a page. */
export const OCR_STARTS = 'ocr starts'
