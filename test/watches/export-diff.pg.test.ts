import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { openWatchFile, type WatchFormat, writeRows } from '../../src/watches/files/watch-file.ts'
import { planWatchImport } from '../../src/watches/import/import-watch-list.ts'
import { cellsOf, type WatchEntry } from '../../src/watches/rows/watch-row.ts'
import { it } from '../support/test-database.ts'
import { entries } from './entry-arbitrary.ts'
import {
  entriesOf,
  exportText,
  fareRows,
  fileOf,
  importRows,
  knowBudget,
  newReseller,
  watchRows,
} from './watch-fixtures.ts'

async function importText(db: Db, resellerId: number, format: WatchFormat, text: string) {
  const source = await openWatchFile(await fileOf(`a.${format}`, text))
  return importRows(db, resellerId, [], { source })
}

async function textOf(format: WatchFormat, written: readonly WatchEntry[]): Promise<string> {
  let text = ''
  for await (const part of writeRows([written.map(cellsOf)], format)) text += part
  return text
}

const byName = (a: WatchEntry, b: WatchEntry) => {
  const compare = (one: string, other: string) =>
    Buffer.compare(Buffer.from(one), Buffer.from(other))
  return compare(a.list, b.list) || compare(a.reference, b.reference)
}

describe('an export', () => {
  it('an import does what its plan predicts, and its export equals the file and changes nothing', async ({
    db,
  }) => {
    let number = 0
    await knowBudget(db, 1_000)
    await fc.assert(
      fc.asyncProperty(
        entries(),
        fc.constantFrom<WatchFormat>('csv', 'yaml'),
        async (written, format) => {
          number += 1
          const resellerId = await newReseller(db, `reseller ${number}`)
          const source = await openWatchFile(
            await fileOf(`a.${format}`, await textOf(format, written)),
          )
          const predicted = await planWatchImport(db, { resellerId, source })
          expect(await importRows(db, resellerId, [], { source })).toMatchObject({
            added: predicted.added,
            changed: 0,
          })
          const before = await watchRows(db, resellerId)

          const other = format === 'csv' ? 'yaml' : 'csv'
          const again = await importText(
            db,
            resellerId,
            other,
            await exportText(db, resellerId, other),
          )

          expect(await entriesOf(db, resellerId)).toEqual(written.toSorted(byName))
          expect(again).toMatchObject({ added: 0, changed: 0, unchanged: written.length })
          expect(await watchRows(db, resellerId)).toEqual(before)
        },
      ),
      { numRuns: 8 },
    )
  })
})

describe('tracked fares', () => {
  it('there are as many active tracked fares as distinct questions after any imports', async ({
    db,
  }) => {
    const resellers = [await newReseller(db, 'one'), await newReseller(db, 'two')]
    const held = new Map<string, string>()
    await knowBudget(db, 1_000)
    await fc.assert(
      fc.asyncProperty(fc.nat(1), entries(30), async (which, written) => {
        const resellerId = resellers[which] ?? 0
        await importText(db, resellerId, 'csv', await textOf('csv', written))
        for (const { list, reference, question } of written) {
          const watch = JSON.stringify([which, list, reference])
          // A watch of a route asks nothing.
          if (question === null) held.delete(watch)
          else held.set(watch, JSON.stringify(question))
        }

        const active = (await fareRows(db)).filter((fare) => fare.watchers > 0)

        expect(active).toHaveLength(new Set(held.values()).size)
        expect(active.reduce((sum, fare) => sum + fare.watchers, 0)).toBe(held.size)
        expect((await fareRows(db)).filter((fare) => fare.lane !== null)).toEqual(active)
      }),
      { numRuns: 8 },
    )
  })
})
