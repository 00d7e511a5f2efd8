const UNITS = [
  { ms: 86_400_000, letter: 'd' },
  { ms: 3_600_000, letter: 'h' },
  { ms: 60_000, letter: 'min' },
  { ms: 1_000, letter: 's' },
] as const

/**
 * A length of time for a person: its two largest units, minutes and above without seconds.
 * @example durationText(11_100_000) // '3 h 5 min'
 */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.round(ms / 1000)) * 1000
  const at = UNITS.findIndex((unit) => whole >= unit.ms)
  const first = UNITS[at]
  if (first === undefined) return '0 s'
  const second = UNITS[at + 1]
  const head = `${Math.floor(whole / first.ms)} ${first.letter}`
  const rest = second === undefined ? 0 : Math.floor((whole % first.ms) / second.ms)
  return second === undefined || rest === 0 || second.letter === 's'
    ? head
    : `${head} ${rest} ${second.letter}`
}
