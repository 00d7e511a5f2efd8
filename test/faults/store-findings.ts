import { Redis } from 'ioredis'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { Finding } from './secret-search.ts'

/** Every row of every table of every schema as text, every bytea value, and the last query of every session. */
export async function databaseFindings(db: Db): Promise<Finding[]> {
  const { rows: tables } = await sql<{ schema: string; name: string; bytes: string[] }>`
    select n.nspname as schema, c.relname as name,
           array(select a.attname::text from pg_attribute a
                  where a.attrelid = c.oid and a.atttypid = 'bytea'::regtype and not a.attisdropped) as bytes
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'm') and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
  `.execute(db)
  const findings = await Promise.all(tables.map((table) => tableFindings(db, table)))
  const sessions = await sql<{ query: string }>`select query from pg_stat_activity`.execute(db)
  return [
    ...findings.flat(),
    { where: 'pg_stat_activity', content: sessions.rows.map(({ query }) => query).join('\n') },
  ]
}

async function tableFindings(
  db: Db,
  { schema, name, bytes }: { schema: string; name: string; bytes: string[] },
): Promise<Finding[]> {
  const table = sql.id(schema, name)
  const { rows } = await sql<{ row: string }>`select t::text as row from ${table} t`.execute(db)
  const where = `table ${schema}.${name}`
  const columns = await Promise.all(
    bytes.map(async (column) => {
      const values = await sql<{ value: Buffer | null }>`
        select ${sql.id(column)} as value from ${table}
      `.execute(db)
      return values.rows.flatMap(({ value }) =>
        value === null ? [] : [{ where: `${where}.${column}`, content: value }],
      )
    }),
  )
  return [{ where, content: rows.map(({ row }) => row).join('\n') }, ...columns.flat()]
}

type Read = (redis: Redis, key: string) => Promise<unknown>

const READS: Readonly<Record<string, Read>> = {
  string: (redis, key) => redis.get(key),
  hash: (redis, key) => redis.hgetall(key),
  list: (redis, key) => redis.lrange(key, 0, -1),
  set: (redis, key) => redis.smembers(key),
  zset: (redis, key) => redis.zrange(key, '0', '-1'),
  stream: (redis, key) => redis.xrange(key, '-', '+'),
}

/** Every key with its value, and the connected clients. */
export async function redisFindings(url: string): Promise<Finding[]> {
  const redis = new Redis(url)
  try {
    const keys = await redis.keys('*')
    const entries = await Promise.all(
      keys.map(async (key) => ({
        where: `redis key ${key}`,
        content: JSON.stringify([key, await READS[await redis.type(key)]?.(redis, key)]),
      })),
    )
    const clients = String(await redis.call('client', 'list'))
    return [...entries, { where: 'redis clients', content: clients }]
  } finally {
    redis.disconnect()
  }
}
