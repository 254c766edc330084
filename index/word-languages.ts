/** Languages of a word index, by ISO 639-1 code: those with stems in LanceDB; `none` leaves words as they are. */
export const WORD_LANGUAGES = [
  ...(['none', 'ar', 'da', 'de', 'el', 'en', 'es', 'fi', 'fr', 'hu'] as const),
  ...(['it', 'nl', 'no', 'pt', 'ro', 'ru', 'sv', 'ta', 'tr'] as const),
] as const
export type WordLanguage = (typeof WORD_LANGUAGES)[number]
