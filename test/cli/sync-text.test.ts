import { describe, expect, it } from 'vitest'
import { syncSentence } from '../../src/cli/text/sync-runs-text.ts'
import { NO_COUNTS, type SyncOutcome } from '../../src/routes/runs.ts'

function anOutcome(changes: Partial<SyncOutcome> = {}): SyncOutcome {
  return {
    ...NO_COUNTS,
    runId: 7,
    list: 'routes',
    status: 'applied',
    baseline: false,
    reason: null,
    durationsMs: { fetch: 1_200 },
    ...changes,
  }
}

const COUNTED = { live: 37_181, added: 5_390, removed: 1, pendingAbsences: 0, placesChanged: 0 }
const HELD = { code: 'mass_absence', text: '2,000 of 34,354 routes\u001b[31m are absent' }

describe('the sentence of a run', () => {
  it.each<[Partial<SyncOutcome>, string]>([
    [COUNTED, 'routes applied: 5,390 added, 1 removed, 37,181 live'],
    [
      { ...COUNTED, pendingAbsences: 2_563, placesChanged: 1 },
      'routes applied: 5,390 added, 1 removed, 1 place changed, 2,563 absences pending, 37,181 live',
    ],
    [
      { ...COUNTED, pendingPlaces: 6 },
      'routes applied: 5,390 added, 1 removed, new attributes of 6 places pending, 37,181 live',
    ],
    [{ ...COUNTED, baseline: true, live: 34_354 }, 'routes baseline: 34,354 live'],
    [{ ...COUNTED, status: 'unchanged' }, 'routes unchanged: 37,181 live'],
    [{ ...COUNTED, status: 'approved' }, 'routes approved: 5,390 added, 1 removed, 37,181 live'],
    [
      { status: 'held', reason: HELD },
      'routes held for review, nothing applied: 2,000 of 34,354 routes [31m are absent',
    ],
    [
      { status: 'rejected', reason: { code: 'upstream.contract', text: 'the answer is HTML' } },
      'routes rejected, nothing applied: the answer is HTML',
    ],
    [
      { status: 'failed', reason: { code: 'upstream.timeout', text: 'no answer within 60 s' } },
      'routes failed, nothing applied: no answer within 60 s',
    ],
    [{ status: 'failed' }, 'routes failed, nothing applied'],
    [
      { status: 'dropped', reason: { code: 'mass_absence', text: 'too few' } },
      'routes dropped, nothing applied: too few',
    ],
    [
      { list: 'with-availability', live: 900, gained: 12, lost: 3, pendingAbsences: 1 },
      'availability applied: 12 gained, 3 lost, 1 absence pending, 900 available',
    ],
    [
      { list: 'with-availability', baseline: true, live: 900, gained: 900, lost: 0 },
      'availability baseline: 900 available',
    ],
    [
      { list: 'with-availability', status: 'unchanged', live: 900 },
      'availability unchanged: 900 available',
    ],
  ])('of %o is %s', (changes, sentence) => {
    expect(syncSentence(anOutcome(changes))).toBe(sentence)
  })
})
