/** 57014: the statement took longer than the pool lets it, as it does where the database is short of breath. */
const SQL_STATES = /^(57014|57P0[123]|08...|53300|25006)$/
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EHOSTUNREACH',
])
/** What the driver says where a connection ends, or none can be had in time; it gives these no code. */
const DRIVER_WORDS =
  /timeout exceeded when trying to connect|connection terminated|timeout expired|query read timeout/i

/** Whether an error means that the database is away, or too busy to let us in: not now, but maybe soon. */
export function isDatabaseUnavailable(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  const { code } = thrown as { code?: unknown }
  if (typeof code === 'string' && (SQL_STATES.test(code) || SOCKET_CODES.has(code))) return true
  if (thrown instanceof AggregateError && thrown.errors.some(isDatabaseUnavailable)) return true
  return DRIVER_WORDS.test(thrown.message)
}
