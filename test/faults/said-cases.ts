import { expect } from 'vitest'
import type { FIELD_FAULTS } from '../../src/sandbox/faults/field-faults.ts'
import type { VERIFY_FAULTS } from '../../src/sandbox/faults/verify-faults.ts'
import type { AnswerAnomaly } from '../../src/upstream/observation.ts'
import { type CasesOf, everywhere, type FaultCase, HONEST } from './fault-case.ts'
import { NO_MOVE } from './list-cases.ts'

const CONTRACT = 'upstream.contract_violation'
const some = expect.toSatisfy((count: number) => count > 0, 'more than none')

/** A list that is as good as the honest one, but for some names, and an answer that says what is so. */
function asGood(
  danger: FaultCase['danger'],
  { placesChanged = 0, anomalies = [] }: { placesChanged?: unknown; anomalies?: AnswerAnomaly[] },
): FaultCase {
  return {
    danger,
    list: { client: 'ok', run: 'applied', counts: { ...NO_MOVE, placesChanged } },
    verify: { client: HONEST, anomalies },
  }
}

const contradicting = 'a list that contradicts itself'
const hostile = 'hostile text'
const odd = 'odd verify answers'

export const FIELD_CASES: CasesOf<keyof typeof FIELD_FAULTS> = {
  'numeric-ids': [asGood(contradicting, { anomalies: ['text_ids'] })],
  'odd-iata': [
    asGood(contradicting, { placesChanged: some }),
    {
      danger: contradicting,
      parameters: { percent: 100 },
      list: { client: 'ok', run: 'held', reason: 'mass_place_change' },
    },
  ],
  'nul-text': [asGood(hostile, {})],
  'lone-surrogates': [asGood(hostile, { placesChanged: some })],
  'odd-text': [asGood(hostile, { placesChanged: some })],
  'extra-fields': [asGood('something else than promised', { anomalies: ['unknown_fields'] })],
  'proto-key': [asGood(hostile, { anomalies: ['extra_ids', 'unknown_fields'] })],
  'changed-shapes': [
    {
      danger: 'something else than promised',
      parameters: { change: 'renamed' },
      list: { client: CONTRACT, run: 'rejected' },
      verify: { client: everywhere('contract_violation'), anomalies: ['unknown_fields'] },
    },
    {
      danger: 'something else than promised',
      parameters: { change: 'nested' },
      list: { client: CONTRACT, run: 'rejected' },
      verify: { client: everywhere('id_missing'), anomalies: ['extra_ids'] },
    },
    {
      danger: 'something else than promised',
      list: { of: 'with-availability', client: CONTRACT, run: 'rejected' },
    },
  ],
}

function price(form: string, anomalies: AnswerAnomaly[], changed = false): FaultCase {
  const changes = changed ? { changes: { open: ['price_changed'], pair: ['price_changed'] } } : {}
  return {
    danger: odd,
    parameters: { form },
    verify: { client: HONEST, anomalies, ...changes },
  }
}

export const VERIFY_CASES: CasesOf<keyof typeof VERIFY_FAULTS> = {
  'available-without-flight': [
    { danger: odd, verify: { client: everywhere('contract_violation') } },
  ],
  'unavailable-with-flight': [
    {
      danger: odd,
      verify: {
        client: everywhere('contract_violation'),
        anomalies: ['flight_though_unavailable'],
      },
    },
  ],
  'another-flight': [
    {
      danger: odd,
      verify: {
        client: everywhere('available'),
        anomalies: ['flight_id_unlike_key'],
        reasons: { open: 'identity_mismatch', pair: 'identity_mismatch' },
        // Of a flight that was never seen nobody can tell that it is another.
        changes: { sold: ['became_available'] },
      },
    },
  ],
  'id-missing': [
    {
      danger: odd,
      verify: {
        client: { open: 'id_missing', sold: 'id_missing', pair: ['id_missing', 'available'] },
      },
    },
    {
      danger: odd,
      parameters: { flight: 'return' },
      verify: { client: { ...HONEST, pair: ['available', 'id_missing'] } },
    },
  ],
  'extra-ids': [{ danger: odd, verify: { client: HONEST, anomalies: ['extra_ids'] } }],
  'odd-prices': [
    price('negative', ['price_unreadable']),
    price('nan', ['price_unreadable']),
    price('decimals', ['price_unreadable']),
    // What is well formed counts: a price may be in another currency, and the total counts before its parts.
    price('currency', [], true),
    price('sum', ['total_unlike_sum'], true),
    price('categories', ['categories_unlike_request']),
  ],
  // Times are local: an hour too much is what another zone explains, and nothing is odd about it.
  'odd-duration': [{ danger: odd, verify: { client: HONEST } }],
  'all-unavailable': [{ danger: 'mass loss', verify: { client: everywhere('unavailable') } }],
}
