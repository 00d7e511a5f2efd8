/** Splits `options` off the URL of a PostgreSQL: in the URL they would replace those that a pool sets itself. */
export function takeServerOptions(url: string): {
  readonly connectionString: string
  readonly serverOptions: string
} {
  const parsed = new URL(url)
  const serverOptions = parsed.searchParams.get('options')
  if (serverOptions === null) return { connectionString: url, serverOptions: '' }
  parsed.searchParams.delete('options')
  return { connectionString: parsed.href, serverOptions }
}
