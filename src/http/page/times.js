const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })

/** "today 13:40", else "23 Nov 2026, 09:00". @param {string} at ISO 8601 */
export function day(at) {
  const time = new Date(at)
  const isToday = time.toDateString() === new Date().toDateString()
  return isToday ? `today ${TIME.format(time)}` : `${DAY.format(time)}, ${TIME.format(time)}`
}

/** "3 Nov 2026" */
export const date = (at) => DAY.format(new Date(at))
