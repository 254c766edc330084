import { at } from '../../base/at.ts'

/** Media types of supported pages. */
const TYPES =
  /^(?:text\/(?:html|plain|markdown|vtt)|application\/(?:xhtml\+xml|pdf|epub\+zip|msword|vnd\.openxmlformats-officedocument\.(?:wordprocessingml\.document|spreadsheetml\.sheet|presentationml\.presentation)|vnd\.oasis\.opendocument\.(?:text|spreadsheet|presentation)))$/
/** Unspecific types: the extension decides. */
const UNTOLD = /^(?:application\/(?:octet-stream|x-download)|binary\/octet-stream)?$/
const ENDING = /\.(?:html?|xhtml|md|markdown|txt|rst|adoc|org|tex|vtt|pdf|docx?|xlsx|pptx|od[tsp]|epub)$/i

/** True for a supported page, by its media type or, if that is unspecific, by its extension. */
export function isPageType(mediaType: string, { pathname }: URL): boolean {
  const type = at(mediaType.split(';'), 0).trim().toLowerCase()
  return TYPES.test(type) || (UNTOLD.test(type) && ENDING.test(pathname))
}
