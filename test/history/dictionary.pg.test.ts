import { readFile } from 'node:fs/promises'
import { describe, expect } from 'vitest'
import { workedQuestions } from '../../docs/source/worked-questions.ts'
import { rollUpDay } from '../../src/history/roll-up-days.ts'
import { PRIVATE_SCHEMA, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { seedAnalytics } from '../routes/analytics-history.ts'
import { it } from '../support/test-database.ts'
import { dataTests } from './data-tests.ts'
import { dbtSources, dictionaryPage, readDictionary } from './generate-dictionary.ts'

const read = (name: string) => readFile(new URL(`../../${name}`, import.meta.url), 'utf8')

describe('the dictionary of the public SQL', () => {
  it('the page and the dbt sources are what `npm run db:dictionary` writes for the migrated database', async ({
    db,
  }) => {
    const tables = await readDictionary(db)

    expect(await read('docs/reference/dictionary.md')).toBe(dictionaryPage(tables))
    expect(await read('docs/analytics/dbt/sources.yml')).toBe(dbtSources(tables))
    expect(tables.filter(({ description }) => !description)).toEqual([])
  })

  it('each private table says what it is for', async ({ db }) => {
    const { rows } = await sql<{ name: string }>`
      select c.relname as name
        from pg_class c
       where c.relnamespace = ${PRIVATE_SCHEMA}::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and c.relname not like 'kysely%' and obj_description(c.oid) is null
    `.execute(db)

    expect(rows).toEqual([])
  })

  it('a name has one type in all views, a local time ends in _local, and an instant says what it is', async ({
    db,
  }) => {
    const columns = (await readDictionary(db)).flatMap((table) => table.columns)
    const types = Map.groupBy(columns, ({ name }) => name)

    const several = [...types].filter(([, all]) => new Set(all.map(({ type }) => type)).size > 1)
    expect(several.map(([name]) => name)).toEqual([])
    expect(misnamed(columns, 'timestamp without time zone', /_local$/)).toEqual([])
    expect(misnamed(columns, 'timestamp with time zone', /_(at|from|to|since)$/)).toEqual([
      'not_before',
    ])
    const words = columns.filter(({ name }) => ['return', 'before', 'after', 'id'].includes(name))
    expect(new Set(words.map(({ name, type }) => `${name} ${type}`))).toEqual(new Set(['id uuid']))
  })

  it('no rows contradict the tests for dbt, and each view has some', async ({ db }) => {
    await seedAnalytics(db)
    await inTransaction(db, async (tx) => {
      for (const day of ['2025-07-01', '2026-05-09', '2026-05-10', '2026-05-20']) {
        await rollUpDay(tx, day)
      }
    })

    for (const table of await readDictionary(db)) {
      const { rows } = await sql.raw(`select from farewatch.${table.name} limit 1`).execute(db)
      expect([table.name, rows.length]).toEqual([table.name, EMPTY.has(table.name) ? 0 : 1])
      for (const { dbt, contradictions } of dataTests(table)) {
        const { rows: wrong } = await sql.raw(contradictions).execute(db)
        expect([table.name, dbt, wrong]).toEqual([table.name, dbt, []])
      }
    }
  })
})

describe('the page for analysts', () => {
  it('has statements that run as they stand', async ({ db }) => {
    await seedAnalytics(db)
    const page = await read('docs/analysts.md')
    const statements = [...page.matchAll(/```sql\n(select.*?);\n```/gs)].map(
      ([, text = '']) => text,
    )

    expect(statements.length).toBeGreaterThan(3)
    for (const statement of statements) await sql.raw(statement).execute(db)
  })

  it('leads to worked questions whose statements run', async ({ db }) => {
    await seedAnalytics(db)

    for (const { statement } of workedQuestions()) await sql.raw(statement).execute(db)
  })

  it('draws views that exist, with columns that they have', async ({ db }) => {
    const tables = await readDictionary(db)
    const [, drawing = ''] =
      /```text\n(places .*?)\n```/s.exec(await read('docs/analysts.md')) ?? []
    const lines = drawing.split('\n')

    expect(lines.length).toBeGreaterThan(10)
    for (const line of lines) {
      const words = [...new Set(line.match(/[a-z]+(_[a-z]+)+|places/g))]
      const drawn = tables.filter(({ name }) => words.includes(name))
      const columns = drawn.flatMap((table) => table.columns.map(({ name }) => name))
      const known = new Set([...drawn.map(({ name }) => name), ...columns])
      expect([line, drawn.length > 0, words.filter((word) => !known.has(word))]).toEqual([
        line,
        true,
        [],
      ])
    }
  })
})

/** Nothing is checked and nothing is renumbered in the history of the test. */
const EMPTY = new Set(['watch_changes', 'fare_schedule', 'place_renumberings'])

function misnamed(
  columns: readonly { readonly name: string; readonly type: string }[],
  type: string,
  pattern: RegExp,
): string[] {
  return columns.filter((of) => of.type === type && !pattern.test(of.name)).map(({ name }) => name)
}
