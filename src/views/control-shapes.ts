import { Type } from 'typebox'
import { PAUSED_WORK } from '../platform/base/kinds.ts'
import { Instant, object, oneOf, orNull } from '../platform/http/schemas.ts'

export const BudgetLimitShape = object({
  requestsPerSecond: Type.Number(),
  until: Instant,
  reason: Type.String(),
  by: Type.String(),
})

export const PauseShape = object({
  what: oneOf(PAUSED_WORK),
  from: Instant,
  until: orNull(Instant, 'Null: until it is resumed.'),
  running: Type.Boolean({ description: 'Whether it has begun.' }),
  reason: orNull(Type.String(), 'Null for a reseller.'),
  by: orNull(Type.String(), 'The key, or `cli`. Null for a reseller.'),
})
