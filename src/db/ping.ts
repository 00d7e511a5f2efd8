import pg from 'pg'

/**
 * Asks the database for an answer on a new connection; rejects where none comes in time.
 *
 * Apart from the pool: one that is exhausted, or whose connections hang, says nothing of the database.
 */
export async function pingDatabase(url: string, deadlineMs: number): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'farewatch ping',
    connectionTimeoutMillis: deadlineMs,
    query_timeout: deadlineMs,
  })
  // A connection that breaks tells by the query; its event has no other listener.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
  } finally {
    // Not awaited: on a connection that hangs the goodbye would too.
    client.end().catch(() => undefined)
  }
}
