/**
 * What the parsers of pg and our SQL assume of a session. A database or a role may have other defaults, as after
 * `alter database … set datestyle to 'German'`.
 */
const ASSUMED = [
  '-c datestyle=ISO',
  '-c intervalstyle=postgres',
  '-c bytea_output=hex',
  '-c extra_float_digits=1',
  '-c standard_conforming_strings=on',
].join(' ')

/** The values of `sslmode` that can be had in one attempt to connect. libpq's other two make a second one. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full']

/** What is wrong with the `sslmode` of the URL of a PostgreSQL; undefined if it is valid. */
export function sslFault({ searchParams }: URL): string | undefined {
  const mode = searchParams.get('sslmode')
  if (mode === null) return undefined
  if (!SSL_MODES.includes(mode)) return `has sslmode=${mode}: it must be ${SSL_MODES.join(', ')}`
  if (mode === 'verify-ca' && !searchParams.has('sslrootcert')) {
    return 'has sslmode=verify-ca without sslrootcert, the file of the certificate to verify by'
  }
  return undefined
}

/**
 * Splits `options` off the URL of a PostgreSQL, and adds what we assume: in the URL they would replace those that a pool sets
 * itself. An `sslmode` means what it does in libpq; for pg alone `require` would be `verify-full`.
 */
export function takeServerOptions(url: string): {
  readonly connectionString: string
  readonly serverOptions: string
} {
  const parsed = new URL(url)
  const serverOptions = `${parsed.searchParams.get('options') ?? ''} ${ASSUMED}`
  parsed.searchParams.delete('options')
  if (parsed.searchParams.has('sslmode')) parsed.searchParams.set('uselibpqcompat', 'true')
  return { connectionString: parsed.href, serverOptions }
}
