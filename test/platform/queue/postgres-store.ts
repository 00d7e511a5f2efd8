import pg from 'pg'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { cloneDatabase } from '../../support/test-database.ts'
import type { TestStore } from './test-store.ts'

/** A server that trusts accepts any password. This one must appear in no output. */
const CANARY = 'canary-password-of-postgres'

/** An empty database on the Postgres of this run. */
export async function openPostgres(): Promise<TestStore> {
  const database = await cloneDatabase()
  const { hostname, port } = new URL(database.url)
  const door = await createTcpProxy({ host: hostname, port: Number(port || 5432) })
  const throughDoor = new URL(database.url)
  throughDoor.host = `127.0.0.1:${door.port}`
  if (throughDoor.password === '') throughDoor.password = CANARY
  const ask = (text: string) => queryRows(database.url, text)
  return {
    connection: { kind: 'postgres', url: throughDoor.href },
    door,
    ask,
    restart: async () => {
      await ask(`select pg_terminate_backend(pid) from pg_stat_activity
                  where datname = current_database() and pid <> pg_backend_pid()`)
    },
    wipe: async () => {
      const tables = `select string_agg(format('%I.%I', schemaname, tablename), ', ') as names
                        from pg_tables
                       where schemaname = 'farewatch_queue' and tablename !~ 'migration|version'`
      const [found] = (await ask(tables)) as { names: string }[]
      await ask(`truncate ${found?.names}`)
    },
    dump: async () =>
      JSON.stringify([
        await ask('select * from farewatch_queue.job'),
        await ask('select * from farewatch_queue.event'),
        await ask('select * from farewatch_queue.dedup'),
      ]),
    close: async () => {
      await door.close()
      await database.drop()
    },
  }
}

async function queryRows(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
