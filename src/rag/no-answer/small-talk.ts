import { wordsOf } from '../../text/words.ts'

/** A longer message has a question in it. */
const MOST_CHARACTERS = 200
const DAY = '(?:day|morning|afternoon|evening|night|weekend|week|one|time)'
const FEELING =
  '(?:fine|good|great|well|ok|okay|back|here|there|bored|tired|happy|sad|sorry|lonely|hungry|ready|sure|confused|busy|real|alive|awake|online)'
const PRAISE =
  '(?:great|good|nice|cool|fine|ok|okay|awesome|amazing|perfect|excellent|wonderful|brilliant|super|lovely|helpful|useful|funny|smart|clever|kind|right|correct|wrong|bad|stupid|useless|welcome|the best|all|it|enough|interesting)'
const YOU = '(?:you|u|ya)'
const ALL = '(?: (?:there|again|all|everyone|everybody|world|guys|folks|friend|mate|bot|robot|assistant|computer|chatbot|chatgpt))*'
const ADVERB = '(?:so|very|really|too|pretty|quite|just|not|all)'

/** What is said between people without asking about the world; words as by `wordsOf`, so that "what's" is two. */
const PHRASES: readonly string[] = [
  `(?:hello|hallo|hullo|hi+|hey+|heya|hiya|howdy|yo|greetings|hola|bonjour|salut|ciao|servus|moin|namaste|gruezi|welcome)${ALL}`,
  `(?:a )?(?:very )?good ?${DAY}${ALL}|guten (?:tag|morgen|abend)|gute nacht|buenos dias|goodnight|(?:have|had) (?:a|an) (?:${ADVERB} )?(?:nice|good|great|lovely|wonderful) ${DAY}`,
  `(?:many )?(?:thanks|thank ${YOU}|thankyou|thx|ty|tysm|tks|cheers|danke|merci|gracias|grazie|obrigado)(?: (?:so|very|much|a|lot|again|indeed|bunch|million|ton|anyway|in advance|schon|sehr|vielmals|beaucoup|mille|for (?:that|this|it|everything|nothing|all|your help|the help|helping|helping me|the answer|your answer|your time|the info|the information)))*`,
  'much appreciated|(?:i )?(?:really )?appreciate (?:it|that|your help)|no (?:thanks|thank you|problem|worries)|(?:never|nevermind|never mind)|my pleasure|not at all|same here|me too',
  `(?:good ?bye|bye+|cya|see ${YOU}|see ya|farewell|tschuss|adios|au revoir|take care|talk to ${YOU}|ttyl|cheerio|so long)(?: (?:later|soon|then|tomorrow|again|around|now|next time))*`,
  'ok(?:ay|ey)?|k+|yes+|yep|yeah+|yup|ja|oui|si|no+|nope|nah|nein|sure|alright|all right|right|fine|great|nice(?: one)?|cool|awesome|amazing|perfect|excellent|wonderful|brilliant|super|lovely|wow|whoa|well done|good job|got it|i see|understood|of course|indeed|exactly|maybe|please|sorry|oops|pardon|excuse me|i am sorry|not really|i (?:do not|don t|dont) (?:know|understand|care)',
  '(?:ha)+h?|(?:he){2,}|lol+|rofl|lmao|h+m+|a+h+|o+h+|uh+|u+m+|xd',
  `(?:and )?how (?:(?:are|r) ${YOU}|do ${YOU} do|(?:is|s) (?:it|everything|life|your day)|are things|have ${YOU} been|${YOU} doing|about ${YOU}|do ${YOU} feel)(?: (?:doing|going|feeling|today|tonight|now|all|been|then))*|and ${YOU}|what about ${YOU}`,
  `(?:what is|what s|whats|wat|wats) (?:up|new|going on)|sup|wassup|whassup|long time no see`,
  `(?:so )?(?:who|what|where|how old) (?:exactly )?(?:are|r) ${YOU}(?: from| exactly)?|what(?: is| s)? your (?:name|job|purpose|age|favou?rite \\w+)|whats your name|who (?:made|built|created|trained|programmed) ${YOU}|do ${YOU} have (?:a name|feelings)|what (?:kind|sort) of (?:bot|ai|assistant|model) are ${YOU}|what(?: ai| language)? model are ${YOU}`,
  `(?:are|r) ${YOU} (?:${FEELING}|an? (?:\\w+ )?(?:bot|robot|human|person|machine|computer|ai|assistant|chatbot|model)|an? real \\w+|ai|human|chatgpt|gpt|claude|siri|alexa)`,
  `what (?:can|do|could|should) (?:${YOU}|i|we|one) (?:do|know|ask|answer|ask ${YOU})(?: (?:for me|here|you|about|then|today|me|all|now))*|how (?:do ${YOU}|does (?:this|it)) work|(?:tell|talk to|ask) me (?:about yourself|something|anything)|introduce yourself|what are your (?:skills|capabilities|abilities)`,
  `(?:can|could|will|would|do) ${YOU} (?:please )?(?:help(?: me)?|hear me|understand me|talk|speak|answer(?: me| questions| a question| my questions?)?|speak english|love me|like me)|(?:please )?help(?: me)?|i need (?:some |your )?help|i have (?:a|another|some|one) questions?|(?:can|may|could) i ask ${YOU}?(?: ?(?:a|another|one|some|something|question|questions|anything))*`,
  '(?:please )?(?:can you |could you )?(?:tell|say|give|sing|write) (?:me )?(?:a|another|some|one) (?:\\w+ )?(?:joke|story|song|poem|jokes|stories)(?: please)?|(?:make|let) me laugh|sing(?: for me)?|entertain me|say (?:something|hello|hi)',
  `(?:nice|good|great|pleased|glad) to (?:meet|see|talk to|hear from) ${YOU}(?: too)?|i (?:love|like|hate|miss) ${YOU}(?: too)?|(?:i am|i m|im|i feel) (?:${ADVERB} )?${FEELING}(?: too| today| now| thanks)*|let ?s (?:talk|chat)|(?:talk|chat) (?:to|with) me`,
  `(?:${YOU}(?: are| re| r| were)?|youre|that(?: is| s| was)?|thats|this is|it(?: is| s| was)|its) (?:a )?(?:${ADVERB} )*${PRAISE}(?: (?:bot|answer|answers|question|one|then|now|thanks|too|for now))*`,
  '(?:this is )?(?:just )?(?:a |only a )?(?:test|testing|check|ping|mic check|sound check)(?: message| 123| 1 2 3| one two three)?',
]
/** Questions on who asks, and where and when they are, which no passage tells. */
const OF_ASKER =
  '.* (?:near|close to|around) (?:me|here)|.* in my area|.* for (?:me )?(?:tonight|tomorrow)|what (?:time|day|date) is it(?: now| today)?|' +
  '(?:what|who|when|where|how (?:old|tall)) (?:is|s|are|am|was) (?:i|my (?:name|age|birthday|boss|wife|husband|mother|father|brother|sister|son|daughter|dog|cat|house|car|phone|order|location|ip address))|' +
  '(?:set|start) (?:a|an) (?:alarm|timer|reminder)(?: .*)?|remind me .*|play (?:some )?music|what did i (?:say|ask|tell)(?: .*)?'
const TALK = new RegExp(`^(?:(?:(?:${PHRASES.join('|')})(?: |$))*|${OF_ASKER})$`)

/**
 * Whether a message asks nothing that a corpus could answer: a greeting, thanks, assent, a question to the service about itself or about the
 * asker's surroundings, or no word at all. Closed phrases, in English with a few of other languages: any other word makes it a question.
 */
export function isSmallTalk(message: string): boolean {
  return message.length <= MOST_CHARACTERS && TALK.test(Array.from(wordsOf(message), ({ plain }) => plain).join(' '))
}
