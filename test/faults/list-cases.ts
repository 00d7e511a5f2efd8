import { expect } from 'vitest'
import type { SIZE_FAULTS } from '../../sandbox/faults/body-faults.ts'
import type { LIST_FAULTS } from '../../sandbox/faults/list-faults.ts'
import { type CasesOf, everywhere, type FaultCase, refused } from './fault-case.ts'

const CONTRACT = 'upstream.contract_violation'
const implausible = 'implausible lists'
const some = expect.toSatisfy((count: number) => count > 0, 'more than none')
/** Nothing is removed, and nothing is added. */
export const NO_MOVE = { added: 0, removed: 0, pendingAbsences: 0, gained: 0, lost: 0 }

function held(reason: string, of: 'routes' | 'with-availability' = 'routes'): FaultCase {
  return { danger: implausible, list: { of, client: 'ok', run: 'held', reason } }
}

export const LIST_CASES: CasesOf<keyof typeof LIST_FAULTS> = {
  'half-list': [held('mass_absence'), held('mass_absence', 'with-availability')],
  'two-halves': [held('mass_absence'), held('mass_absence', 'with-availability')],
  'part-list': [
    {
      danger: implausible,
      parameters: { percent: 10 },
      list: {
        client: 'ok',
        run: 'applied',
        counts: { ...NO_MOVE, pendingAbsences: some },
      },
    },
    { ...held('mass_absence'), parameters: { percent: 20 } },
    {
      danger: implausible,
      parameters: { percent: 10 },
      list: {
        of: 'with-availability',
        client: 'ok',
        run: 'applied',
        counts: { lost: 0, pendingAbsences: some },
      },
    },
    { ...held('mass_absence', 'with-availability'), parameters: { percent: 20 } },
  ],
  'tenfold-list': [
    held('mass_addition'),
    {
      danger: implausible,
      list: {
        of: 'with-availability',
        client: 'ok',
        run: 'applied',
        counts: { ...NO_MOVE, unknownPairs: some },
      },
    },
  ],
  'two-lists': [{ danger: implausible, list: { client: CONTRACT, run: 'rejected' } }],
  duplicates: [
    {
      danger: 'contradictory lists',
      list: { client: 'ok', run: 'applied', counts: { ...NO_MOVE, duplicates: some } },
    },
  ],
  'conflicting-places': [
    {
      danger: 'contradictory lists',
      parameters: { places: 5 },
      list: { client: 'ok', run: 'applied', counts: { ...NO_MOVE, conflictingPlaces: 5 } },
    },
  ],
}

/** All caps are the product's, except the cap on bodies. full-size.nightly.pg.test.ts tests the caps at their full size. */
const SMALL = { maxBodyBytes: 1_000_000 }
const tooLarge: FaultCase = {
  danger: 'oversized answers',
  limits: SMALL,
  ...refused('upstream.too_large', 'malformed'),
}

export const SIZE_CASES: CasesOf<keyof typeof SIZE_FAULTS> = {
  'gzip-bomb': [{ ...tooLarge, parameters: { megabytes: 4 } }],
  'huge-body': [{ ...tooLarge, parameters: { megabytes: 4 } }],
  'deep-nesting': [
    {
      danger: 'oversized answers',
      parameters: { levels: 10_000 },
      ...refused(CONTRACT, 'malformed'),
    },
  ],
  'many-fields': [
    { ...tooLarge, limits: {}, parameters: { fields: 200_000 } },
    {
      danger: 'oversized answers',
      parameters: { fields: 1_000 },
      list: { client: CONTRACT, run: 'rejected' },
      verify: {
        client: { ...everywhere('contract_violation'), pair: ['contract_violation', 'id_missing'] },
        anomalies: ['unknown_fields'],
      },
    },
  ],
}
