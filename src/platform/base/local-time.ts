const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Creating a format costs fifty times its use. The cache has at most one entry for each zone. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** A format takes 20 µs, and the times of a fare are the same at each of its checks. Offsets change at whole quarters of an hour. */
const QUARTER_MS = 900_000
const offsets = new Map<string, number>()
const MOST_OFFSETS = 50_000

/** How far the clocks of an IANA zone are ahead of UTC at an instant, in milliseconds. */
export function zoneOffsetMs(zone: string, instant: number): number {
  const key = `${zone} ${Math.floor(instant / QUARTER_MS)}`
  const known = offsets.get(key)
  if (known !== undefined) return known
  if (offsets.size === MOST_OFFSETS) offsets.clear()
  const offset = readOffsetMs(zone, instant)
  offsets.set(key, offset)
  return offset
}

function readOffsetMs(zone: string, instant: number): number {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    formats.set(zone, format)
  }
  const match = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(instant))
  if (!match) return 0
  const minutes = Number(match[2]) * 60 + Number(match[3])
  return (match[1] === '-' ? -minutes : minutes) * MINUTE_MS
}

/**
 * The instant at which the clocks of a zone show a local time. `local` is that time read as if it were UTC.
 *
 * Of two such instants, when clocks are set back, it is the later one. A time that clocks skip is read by the earlier
 * offset, which makes it the later instant too.
 */
export function instantOfLocal(zone: string, local: number): number {
  const instants = [local - DAY_MS, local + DAY_MS].map((near) => local - zoneOffsetMs(zone, near))
  const shown = instants.filter((instant) => instant + zoneOffsetMs(zone, instant) === local)
  return Math.max(...(shown.length > 0 ? shown : instants))
}
