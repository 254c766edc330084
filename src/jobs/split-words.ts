/** Words per passage of split documents. The default is the literature's. */
export const SPLIT_WORDS = { least: 20, most: 1000, byDefault: 100 } as const
