import { expect } from 'vitest'
import { openWatchFile } from '../../src/watches/files/watch-file.ts'
import { it } from '../support/test-database.ts'
import { fileOf, importRows, newReseller } from './watch-fixtures.ts'

it('an import takes 100,000 rows and reports its progress', async ({ db }) => {
  const resellerId = await newReseller(db)
  const header = 'list,reference,flight_id,residents_adults,non_residents_adults\n'
  const rows = Array.from({ length: 100_000 }, (_, i) => `L${i % 7},R${i},F${i % 60_000},1,0\n`)
  const source = await openWatchFile(await fileOf('large.csv', header + rows.join('')))
  const progress: number[] = []

  const outcome = await importRows(db, resellerId, [], {
    source,
    onProgress: (at) => progress.push(at.stage === 'reading' ? at.rows : -at.rows),
  })

  expect(outcome).toMatchObject({ added: 100_000, changed: 0, trackedFaresAdded: 60_000 })
  expect(progress.length).toBeGreaterThan(50)
  expect(progress.slice(0, 2)).toEqual([1_000, 2_000])
  expect(progress.at(-1)).toBe(-100_000)
  const again = await importRows(db, resellerId, [], { source })
  expect(again).toMatchObject({ added: 0, changed: 0, unchanged: 100_000 })
})
