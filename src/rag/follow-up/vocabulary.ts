/** Closed classes of English words, as patterns for the rules of follow-up questions. */

/** First words of questions, besides auxiliaries. */
export const QUESTION_WORD = String.raw`(?:who|whom|whose|what|which|when|where|why|how)`
export const AUXILIARY = String.raw`(?:is|are|was|were|did|does|do|has|have|had|can|could|will|would|should|may)`
export const PREPOSITION = String.raw`(?:of|in|for|by|from|on|at|to|with|about|during|after|before|under|near)`

/** Final verbs of questions about an entity: `when was the tower [built]`, `where does the river [end]`. */
export const VERB_TAIL = String.raw`(?:\w+ed|born|built|written|made|held|won|found|sung|shot|known|fought|begun|sunk|drawn|sold|spoken|grown|taken|given|take place|die|begin|start|end|open|happen|live|win|write|play|invent|discover|become|come|go|get|mean|cost|weigh)(?: (?:from|in|at|to|on|by|for|with|up|out))?`

/** Relational nouns: `the population` is not an entity that could replace another. */
export const RELATION = String.raw`(?:capital|population|president|king|queen|leader|mayor|governor|prime minister|chancellor|language|currency|area|size|flag|anthem|author|writer|director|composer|painter|architect|inventor|founder|owner|ceo|height|length|depth|width|weight|age|date|year|place|name|birthplace|nationality|wife|husband|mother|father|brother|sister|son|daughter|children|parents|religion|climate|history|elevation|area code|time zone|largest city|highest mountain|longest river|national animal|official language)`
