import { inject } from 'vitest'
import { adminQuery } from './postgres-server.ts'

/** Ends the sessions of the database, because a session keeps its settings. */
export async function setReadOnly(databaseUrl: string, isReadOnly: boolean): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1)
  const to = isReadOnly ? 'on' : 'off'
  const url = inject('postgresUrl')
  await adminQuery(url, `alter database ${name} set default_transaction_read_only = ${to}`)
  await adminQuery(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
  )
}
