import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { diffWatchList } from '../../src/watches/import/diff-watch-list.ts'
import { type ImportOutcome, planWatchImport } from '../../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../../src/watches/rows/watch-row.ts'
import { available, gone, minute, record } from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'
import { type Cells, cells, importRows, newReseller, resellerWith } from './watch-fixtures.ts'

/** "1 flight_id: is no number, …", one for each warning. */
function linesOf({ warnings }: Pick<ImportOutcome, 'warnings'>): string[] {
  return warnings.rows.flatMap(({ line, errors }) =>
    errors.map(({ column, message }) => `${line} ${column}: ${message}`),
  )
}

const NO_NUMBER = 'is no number, as the flight ids of the upstream are'
const NOT_SHOWN = 'was not available when the upstream was asked, and no answer has shown it'

/** Three checked fares: 101 was shown, 102 was not, and 103 was shown and has departed. */
const ROWS = ['101', '102', '103'].map((id) => cells({ reference: id, flight_id: id }))

async function checkThem(db: Db): Promise<void> {
  const { rows } = await sql<{ id: number; flight: string }>`
    select id, flight_id as flight from tracked_fare order by flight_id
  `.execute(db)
  for (const { id, flight } of rows) {
    for (const n of [0, 1]) await record(db, id, minute(n), flight === '102' ? gone : available())
  }
  await sql`
    update fare_state s set departs_at = '2026-01-31T12:00:00Z'
      from tracked_fare f where f.id = s.tracked_fare_id and f.flight_id = '103'
  `.execute(db)
}

const again = (row: Cells) => ({ ...row, reference: `again ${row.reference}` })

describe('the warnings of an import', () => {
  it('name ids that are no number, and such rows are saved', async ({ db }) => {
    const resellerId = await newReseller(db)
    const rows = [
      cells({ reference: 'A', flight_id: 'LH-7', return_flight_id: '12 3' }),
      cells({ reference: 'B', flight_id: '0012' }),
    ]

    const outcome = await importRows(db, resellerId, rows)

    expect(outcome.added).toBe(2)
    expect(linesOf(outcome)).toEqual([
      `1 flight_id: ${NO_NUMBER}`,
      `1 return_flight_id: ${NO_NUMBER}`,
    ])
  })

  it('name flights that have departed or that no answer has shown, for watches that begin', async ({
    db,
  }) => {
    const resellerId = await resellerWith(db, ROWS)
    await checkThem(db)
    const expected = [`2 flight_id: ${NOT_SHOWN}`, '3 flight_id: departed at 2026-01-31T12:00:00Z']
    const source = rowsOf('rows', ROWS.map(again))

    expect(linesOf(await planWatchImport(db, { resellerId, source }))).toEqual(expected)
    expect(
      linesOf(await diffWatchList(db, { resellerId, source, onRows: () => undefined })),
    ).toEqual(expected)
    expect(linesOf(await importRows(db, resellerId, ROWS))).toEqual([])
    expect(linesOf(await importRows(db, resellerId, ROWS.map(again)))).toEqual(expected)
  })

  it('reveal nothing of what others watch, until the reseller watches it too', async ({ db }) => {
    await resellerWith(db, ROWS, 'other')
    await checkThem(db)
    const resellerId = await newReseller(db)

    const plan = await planWatchImport(db, { resellerId, source: rowsOf('rows', ROWS) })

    expect(linesOf(plan)).toEqual([])
    expect(linesOf(await importRows(db, resellerId, ROWS))).toHaveLength(2)
  })

  it('are listed up to fifty, and all counted', async ({ db }) => {
    const rows = Array.from({ length: 60 }, (_, i) =>
      cells({ reference: `R${i}`, flight_id: `F${i}` }),
    )

    const { warnings } = await importRows(db, await newReseller(db), rows)

    expect(warnings.rows).toHaveLength(50)
    expect(warnings.count).toBe(60)
  })
})
