interface RetryAfterContext {
  readonly now: Date
  /** The answer's own Date header. With it a date in Retry-After needs no agreement of clocks. */
  readonly answeredAt: string | undefined
  readonly maxMs: number
}

/** The three date forms of HTTP end in GMT or a year. Other texts that Date.parse would guess at are refused. */
const READABLE_DATE = /^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}( GMT| \d{4})$/

/**
 * The wait that a Retry-After header asks for, in milliseconds, between 0 and `maxMs`.
 *
 * Undefined if the header is missing or unreadable. Source: RFC 9110, 10.2.3.
 * @example retryAfterMs('120', { now, answeredAt: undefined, maxMs: 900_000 }) // 120_000
 */
export function retryAfterMs(
  header: string | undefined,
  { now, answeredAt, maxMs }: RetryAfterContext,
): number | undefined {
  const text = header?.trim() ?? ''
  // Some servers send 1e9, which is a number of seconds too.
  const waitMs = /^\d/.test(text)
    ? Number(text) * 1000
    : dateMs(text) - (dateMs(answeredAt) || now.getTime())
  return Number.isNaN(waitMs) ? undefined : Math.min(maxMs, Math.max(0, Math.ceil(waitMs)))
}

function dateMs(text: string | undefined): number {
  if (text === undefined || !READABLE_DATE.test(text)) return Number.NaN
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
}
