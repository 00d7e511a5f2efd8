import { expect } from 'vitest'
import type { FIELD_FAULTS } from '../../sandbox/faults/field-faults.ts'
import type { VERIFY_FAULTS } from '../../sandbox/faults/verify-faults.ts'
import type { AnswerAnomaly } from '../../src/upstream/observation.ts'
import { type CasesOf, CORRECT, everywhere, type FaultCase } from './fault-case.ts'
import { NO_MOVE } from './list-cases.ts'

const CONTRACT = 'upstream.contract_violation'
const some = expect.toSatisfy((count: number) => count > 0, 'more than none')

/** A list that differs from the correct one only in some names, and a correct answer. */
function accepted(
  danger: FaultCase['danger'],
  {
    pendingPlaces = 0,
    anomalies = [],
    reasons = {},
  }: {
    pendingPlaces?: unknown
    anomalies?: AnswerAnomaly[]
    reasons?: NonNullable<FaultCase['verify']>['reasons']
  },
): FaultCase {
  return {
    danger,
    list: { client: 'ok', run: 'applied', counts: { ...NO_MOVE, placesChanged: 0, pendingPlaces } },
    verify: { client: CORRECT, anomalies, reasons },
  }
}

const contradicting = 'contradictory lists'
const hostile = 'hostile text'
const anomalous = 'anomalous verify answers'

export const FIELD_CASES: CasesOf<keyof typeof FIELD_FAULTS> = {
  'numeric-ids': [accepted(contradicting, { anomalies: ['text_ids'] })],
  'odd-iata': [
    accepted(contradicting, { pendingPlaces: some }),
    {
      danger: contradicting,
      parameters: { percent: 100 },
      list: { client: 'ok', run: 'held', reason: 'mass_place_change' },
    },
  ],
  'nul-text': [accepted(hostile, {})],
  'lone-surrogates': [accepted(hostile, { pendingPlaces: some })],
  'odd-text': [accepted(hostile, { pendingPlaces: some })],
  'extra-fields': [accepted('contract violations', { anomalies: ['unknown_fields'] })],
  'proto-key': [
    accepted(hostile, {
      anomalies: ['unknown_fields'],
      reasons: { sold: 'unknown_members' },
    }),
  ],
  'changed-shapes': [
    {
      danger: 'contract violations',
      parameters: { change: 'renamed' },
      list: { client: CONTRACT, run: 'rejected' },
      verify: { client: everywhere('contract_violation'), anomalies: ['unknown_fields'] },
    },
    {
      danger: 'contract violations',
      parameters: { change: 'nested' },
      list: { client: CONTRACT, run: 'rejected' },
      verify: { client: everywhere('id_missing'), anomalies: ['unknown_fields'] },
    },
    {
      danger: 'contract violations',
      list: { of: 'with-availability', client: CONTRACT, run: 'rejected' },
    },
  ],
}

function price(form: string, anomalies: AnswerAnomaly[]): FaultCase {
  return {
    danger: anomalous,
    parameters: { form },
    verify: { client: CORRECT, anomalies },
  }
}

export const VERIFY_CASES: CasesOf<keyof typeof VERIFY_FAULTS> = {
  'available-without-flight': [
    { danger: anomalous, verify: { client: everywhere('contract_violation') } },
  ],
  'unavailable-with-flight': [
    {
      danger: anomalous,
      verify: {
        client: everywhere('contract_violation'),
        anomalies: ['flight_though_unavailable'],
      },
    },
  ],
  'another-flight': [
    {
      danger: anomalous,
      verify: {
        client: everywhere('other_flight'),
        anomalies: ['flight_id_unlike_key'],
      },
    },
  ],
  'id-missing': [
    {
      danger: anomalous,
      verify: {
        client: { open: 'id_missing', sold: 'id_missing', pair: ['id_missing', 'available'] },
      },
    },
    {
      danger: anomalous,
      parameters: { flight: 'return' },
      verify: { client: { ...CORRECT, pair: ['available', 'id_missing'] } },
    },
  ],
  'extra-ids': [{ danger: anomalous, verify: { client: CORRECT, anomalies: ['extra_ids'] } }],
  'odd-prices': [
    price('negative', ['price_unreadable']),
    price('nan', ['price_unreadable']),
    price('decimals', ['price_unreadable']),
    // A price in another currency, or unlike its parts, waits for a second answer that shows the same.
    price('currency', []),
    // A total that is not the sum is no price.
    price('sum', ['total_unlike_sum']),
    {
      danger: anomalous,
      parameters: { form: 'categories' },
      verify: {
        client: {
          open: 'other_passengers',
          sold: 'unavailable',
          pair: ['other_passengers', 'other_passengers'],
        },
        anomalies: ['categories_unlike_request'],
      },
    },
  ],
  // Another site waits for a second answer that shows it.
  'other-site': [{ danger: anomalous, verify: { client: CORRECT } }],
  'swapped-legs': [
    { danger: anomalous, verify: { client: CORRECT, reasons: { pair: 'other_flight' } } },
  ],
  'frozen-answers': [{ danger: anomalous, verify: { client: CORRECT } }],
  'unknown-member': ['entry', 'top'].map((at) => ({
    danger: anomalous,
    parameters: { at },
    verify: {
      client: everywhere('unavailable'),
      anomalies: ['unknown_fields'],
      reasons: { open: 'unknown_members', sold: 'unknown_members', pair: 'unknown_members' },
    },
  })),
  // Other time zones could explain an hour of difference.
  'odd-duration': [
    { danger: anomalous, verify: { client: CORRECT, anomalies: ['zone_unlike_table'] } },
  ],
  'all-unavailable': [{ danger: 'mass loss', verify: { client: everywhere('unavailable') } }],
}
