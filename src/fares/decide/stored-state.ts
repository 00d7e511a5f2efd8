import { AppError } from '../../platform/base/errors.ts'
import type { ShownPriceReason } from '../../platform/base/kinds.ts'
import { type FareState, initialState } from './fare-state.ts'

/** A stored state that this version cannot read. */
export class FareStateError extends AppError {
  override readonly name = 'FareStateError'
  override readonly code = 'verify.state_malformed'
  override readonly retryable = false

  constructor(part: string) {
    super(`the stored state of a fare is malformed: ${part} is missing`)
  }
}

/**
 * The parts of a state that are stored as JSON. Its instants are columns, so a check that finds nothing new leaves the JSON
 * as it is.
 */
export type StoredState = Omit<
  FareState,
  'lastGoodCheckAt' | 'pricedAt' | 'priceReason' | 'everAvailableAt'
>

const PARTS = [
  'belief',
  'lastFlights',
  'candidate',
  'holds',
  'held',
  'replaced',
  'reverted',
] as const satisfies readonly (keyof StoredState)[]

export function storedState(state: FareState): StoredState {
  const { belief, lastFlights, candidate, holds, held, replaced, reverted } = state
  return { belief, lastFlights, candidate, holds, held, replaced, reverted }
}

/** The row of a fare, as far as its state consists of it. */
export interface StateRow {
  /** A StoredState; an empty object, or null without a row, before the first check. */
  readonly state: object | null
  readonly hasReturn: boolean
  readonly lastGoodCheckAt: Date | null
  readonly priceCheckedAt: Date | null
  readonly priceReason: ShownPriceReason | null
  readonly everAvailableAt: Date | null
}

/**
 * Reads the state of a fare from its row. The JSON is written by this module alone, so it is checked for being of this
 * version, and not field by field. Throws FareStateError.
 */
export function stateOfRow(row: StateRow): FareState {
  const { state } = row
  if (state === null || Object.keys(state).length === 0) return initialState(row.hasReturn)
  const missing = PARTS.find((part) => !Object.hasOwn(state, part))
  if (missing !== undefined) throw new FareStateError(missing)
  return {
    ...(state as StoredState),
    lastGoodCheckAt: row.lastGoodCheckAt?.toISOString() ?? null,
    pricedAt: row.priceCheckedAt?.toISOString() ?? null,
    priceReason: row.priceReason,
    everAvailableAt: row.everAvailableAt?.toISOString() ?? null,
  }
}
