import { nameFault, textFault } from '../../base/text.ts'
import { MAX_FLIGHT_ID_CHARS } from '../../upstream/passenger-rules.ts'
import { type Parsed, parseCount, parseDate, parseDecimal, parseInterval } from './cell-values.ts'
import { passengerFaults } from './passenger-faults.ts'
import { entryOf, type FlatEntry, type WatchEntry } from './watch-entry.ts'
import { type Column, type Fault, REQUIRED_COLUMNS, type WrittenRow } from './written-row.ts'

export type CheckedRow =
  | { readonly line: number; readonly entry: WatchEntry }
  | { readonly line: number; readonly faults: readonly Fault[] }

/** Reads a row's texts; names every fault that it has, not the first one alone. */
export function checkRow(row: WrittenRow): CheckedRow {
  const cells = createCellReader(row)
  const flat: FlatEntry = {
    list: cells.text('list', nameFault) ?? '',
    reference: cells.text('reference', nameFault) ?? '',
    flightId: cells.text('flight_id', flightIdFault)?.trim() ?? '',
    returnFlightId: cells.text('return_flight_id', flightIdFault)?.trim() ?? null,
    residentsAdults: cells.value('residents_adults', parseCount) ?? 0,
    residentsChildren: cells.value('residents_children', parseCount) ?? 0,
    residentsInfants: cells.value('residents_infants', parseCount) ?? 0,
    nonResidentsAdults: cells.value('non_residents_adults', parseCount) ?? 0,
    nonResidentsChildren: cells.value('non_residents_children', parseCount) ?? 0,
    nonResidentsInfants: cells.value('non_residents_infants', parseCount) ?? 0,
    priceThresholdAmount: cells.value('price_threshold_amount', parseDecimal),
    priceThresholdPercent: cells.value('price_threshold_percent', parseDecimal),
    departsOn: cells.value('departs_on', parseDate),
    minIntervalSeconds: cells.value('min_interval_seconds', parseInterval),
  }
  const entry = entryOf(flat)
  // What counts break together is only worth saying once each of them can be read.
  const faults = cells.faults.some(({ column }) => /residents/.test(column))
    ? cells.faults
    : [...cells.faults, ...passengerFaults(entry.question.passengers)]
  return faults.length > 0 ? { line: row.line, faults } : { line: row.line, entry }
}

interface CellReader {
  readonly faults: Fault[]
  /** The cell's text; null where it is empty or breaks the rule. */
  text(column: Column, faultOf: (text: string) => string | undefined): string | null
  /** The cell's value; null where it is empty or cannot be read. */
  value<T>(column: Column, parse: (text: string) => Parsed<T>): T | null
}

function createCellReader({ cells, faults: formFaults }: WrittenRow): CellReader {
  const faults = [...formFaults]
  const broken = new Set(formFaults.map(({ column }) => column))
  const fill = (column: Column): string | null => {
    const text = cells[column] ?? ''
    if (text.trim() !== '') return text
    const required = (REQUIRED_COLUMNS as readonly string[]).includes(column)
    if (required && !broken.has(column)) faults.push({ column, says: 'is missing' })
    return null
  }
  return {
    faults,
    text: (column, faultOf) => {
      const text = fill(column)
      const says = text === null ? undefined : faultOf(text)
      if (says === undefined) return text
      faults.push({ column, says })
      return null
    },
    value: (column, parse) => {
      const text = fill(column)
      if (text === null) return null
      const parsed = parse(text.trim())
      if (!('says' in parsed)) return parsed.value
      faults.push({ column, says: parsed.says })
      return null
    },
  }
}

/** What is wrong with a flight id; white space around it is allowed. */
function flightIdFault(text: string): string | undefined {
  return textFault(text.trim(), MAX_FLIGHT_ID_CHARS)
}
