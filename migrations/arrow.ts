import { createRequire } from 'node:module'
import type * as Arrow from 'apache-arrow'

/** The copy of Arrow that LanceDB loads, which takes its objects. By `import` Node would load a second one, of 134 modules. */
export const arrow = createRequire(import.meta.url)('apache-arrow') as typeof Arrow
