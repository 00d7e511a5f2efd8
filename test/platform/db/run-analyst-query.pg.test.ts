import { describe, expect } from 'vitest'
import { resultText } from '../../../src/cli/work/database.ts'
import { asAnalyst, type QueryResult, SqlError } from '../../../src/platform/db/analyst-session.ts'
import { type Database, sql } from '../../../src/platform/db/database.ts'
import { runAnalystQuery } from '../../support/analyst-query.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'

describe('an analyst query', () => {
  it('returns every value as the text that Postgres writes', async ({ database }) => {
    const answer = await runAnalystQuery(
      database,
      `select 1 as int, 12.10::numeric as money, true as yes, null as nothing, 'É' as text,
              timestamptz '2026-01-31 12:00+02' as instant, '{"a": 1}'::jsonb as json, '{1,2}'::int[] as list`,
    )

    expect(answer.rows).toEqual([
      ['1', '12.10', 't', null, 'É', '2026-01-31 10:00:00+00', '{"a": 1}', '{1,2}'],
    ])
    expect(answer.columns.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'int number',
      'money text',
      'yes boolean',
      'nothing text',
      'text text',
      'instant instant',
      'json json',
      'list text',
    ])
  })

  it('reads the public SQL without a schema name, and no private table', async ({ database }) => {
    expect((await runAnalystQuery(database, 'select count(*) from routes_current')).rows).toEqual([
      ['0'],
    ])
    await expect(
      runAnalystQuery(database, 'select name from farewatch_private.schedule'),
    ).rejects.toThrow(/permission denied/)
  })

  it('may return two columns of one name, no rows, or no columns', async ({ database }) => {
    const twice = await runAnalystQuery(database, 'select 1 as a, 2 as a')
    expect(twice.columns.map(({ name }) => name)).toEqual(['a', 'a'])
    expect(twice.rows).toEqual([['1', '2']])

    expect(await runAnalystQuery(database, 'select 1 as a where false')).toEqual({
      columns: [{ name: 'a', kind: 'number' }],
      rows: [],
    })
    expect(await runAnalystQuery(database, '')).toEqual({ columns: [], rows: [] })
    expect(await runAnalystQuery(database, '-- nothing')).toEqual({ columns: [], rows: [] })
  })

  it.for([
    ['two statements', 'select 1; select 2', /multiple commands/],
    ['a way out of its transaction', 'commit; drop table schedule', /multiple commands/],
    ['a mistake', 'selekt 1', /syntax error at or near "selekt"/],
    ['an unknown table', 'select * from nowhere', /relation "nowhere" does not exist/],
    ['a hint', 'select availabl from routes_current', /\(Perhaps you meant/],
    ['a failure', 'select 1 / 0', /division by zero/],
    ['a program', "copy (select 1) to program 'true'", /permission denied|read-only/],
    ['a file of the machine', "select pg_read_file('postgresql.conf')", /permission denied/],
    ['an insert', "insert into farewatch_private.feed_head values ('x')", /permission denied/],
    [
      'an update',
      'update route_history set valid_to = null',
      /permission denied|read-only|cannot update/,
    ],
    [
      'a write in a query',
      'with d as (delete from routes_current returning 1) select * from d',
      /permission denied|read-only|cannot delete/,
    ],
    ['a table', 'create table t ()', /read-only transaction/],
    ['a sequence', "select nextval('farewatch_private.sync_run_id_seq')", /permission denied/],
    [
      'a copy into a view',
      'copy route_history from stdin',
      /permission denied|read-only|cannot copy/,
    ],
  ] as const)('is refused where it holds %s', async ([_what, text, message], { database }) => {
    const refused = runAnalystQuery(database, text)

    await expect(refused).rejects.toThrow(SqlError)
    await expect(refused).rejects.toThrow(message)
  })

  it('writes nothing, whatever statements precede it', async ({ database, db }) => {
    await runAnalystQuery(database, 'set transaction read write').catch(() => undefined)
    await runAnalystQuery(database, 'commit')

    await expect(runAnalystQuery(database, 'create table t ()')).rejects.toThrow(
      /read-only|permission/,
    )

    const { rows } = await sql`select from feed_head where feed = 'x'`.execute(db)
    expect(rows).toEqual([])
  })

  it('leaves its connection unchanged, after a result and after an error', async ({
    db,
    database,
  }) => {
    for (const text of ['set search_path = public', 'select 1 / 0', 'copy schedule to stdout']) {
      await runAnalystQuery(database, text).catch(() => undefined)
    }

    const { rows } = await sql`
      select current_setting('search_path') as path, txid_current_if_assigned() as tx
    `.execute(db)
    expect(rows).toEqual([{ path: 'farewatch_private', tx: null }])
    expect(database.pool.idleCount).toBe(database.pool.totalCount)
  })
})

describe('a result as lines of JSON', () => {
  it('has JSON values for numbers, booleans and JSON, and strings for values that JSON cannot hold', async ({
    database,
  }) => {
    const answer = await runAnalystQuery(
      database,
      `select 5::int2 as small, -5 as int, 9007199254740991::int8 as safe, 9007199254740993::int8 as large,
              1.5::float8 as float, 1e300::float8 as huge, 'NaN'::float8 as nan, '-Infinity'::float4 as infinite,
              12.10::numeric as money, true as yes, false as no, null::int as none, null::jsonb as empty,
              '{"a": [1.10, 12345678901234567890, "x\\ny"], "b": null}'::jsonb as jsonb,
              E'[1,\\n\\r 2]'::json as json, 'null'::jsonb as null, '"t"'::jsonb as string, 't' as text, '5' as five,
              date '2026-01-31' as day, '{1,2}'::int[] as list`,
    )

    const line = resultText(answer, { json: true })

    expect(line).toMatch(/^[^\n\r]*\n$/)
    expect(line).toContain('"jsonb":{"a": [1.10, 12345678901234567890, "x\\ny"], "b": null}')
    expect(JSON.parse(line)).toEqual({
      small: 5,
      int: -5,
      safe: 9007199254740991,
      large: '9007199254740993',
      float: 1.5,
      huge: 1e300,
      nan: 'NaN',
      infinite: '-Infinity',
      money: '12.10',
      yes: true,
      no: false,
      none: null,
      empty: null,
      jsonb: { a: [1.1, 12345678901234567000, 'x\ny'], b: null },
      json: [1, 2],
      null: null,
      string: 't',
      text: 't',
      five: '5',
      day: '2026-01-31',
      list: '{1,2}',
    })
  })

  it('has one line for each row', async ({ database }) => {
    const answer = await runAnalystQuery(database, 'select n from generate_series(1, 3) as n')

    expect(resultText(answer, { json: true })).toBe('{"n":1}\n{"n":2}\n{"n":3}\n')
  })
})

describe('a streamed analyst query', () => {
  const streamQuery = (
    database: Database,
    statement: string,
    take: (part: QueryResult) => Promise<void>,
  ) => asAnalyst(database, ({ stream }) => stream(statement, take))

  it('hands over its rows in parts, and waits while one is taken', async ({ database }) => {
    const parts: number[] = []
    const seen: (string | null)[] = []
    let taking = 0
    await streamQuery(database, 'select * from generate_series(1, 12000) n', async ({ rows }) => {
      taking += 1
      expect(taking).toBe(1)
      await new Promise(setImmediate)
      parts.push(rows.length)
      seen.push(...rows.map(([n = null]) => n))
      taking -= 1
    })

    expect(parts).toEqual([5_000, 5_000, 2_000])
    expect(seen).toEqual(Array.from({ length: 12_000 }, (_, i) => String(i + 1)))
  })

  it('lets the server wait for its reader instead of keeping rows', async ({ db, database }) => {
    const waits: boolean[] = []
    const wide = "select repeat('x', 20000) from generate_series(1, 2000)"
    await streamQuery(database, wide, async () => {
      if (waits.length > 0) return
      await until('the server waits', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where wait_event = 'ClientWrite' and query like 'select repeat%'
        `.execute(db)
        waits.push(rows.length > 0)
        return rows.length > 0
      })
    })

    expect(waits.at(-1)).toBe(true)
  })

  it('ends with the error of its reader or of its statement, and the next one works', async ({
    database,
  }) => {
    const broken = streamQuery(database, 'select * from generate_series(1, 100000)', async () => {
      throw new Error('the reader broke')
    })
    await expect(broken).rejects.toThrow('the reader broke')
    const late = streamQuery(
      database,
      'select 1 / (6000 - n) from generate_series(1, 9000) n',
      async () => undefined,
    )
    await expect(late).rejects.toThrow(SqlError)

    expect((await runAnalystQuery(database, 'select 1 as one')).rows).toEqual([['1']])
  })
})
