import type { ChangeOutcome } from '../../watch/change-watches.ts'
import type { DiffOutcome, DiffRow } from '../../watch/import/diff-watch-list.ts'
import type { ImportOutcome } from '../../watch/import/import-watch-list.ts'
import type { TrackedFaresEffect } from '../../watch/sync-tracked-fares.ts'
import { count, countOf, printable } from './text-format.ts'

/** What came of an import, in one sentence for a person. */
export function importText(outcome: ImportOutcome): string {
  const { added, changed, unchanged, ended, invalid } = outcome
  const skipped = invalid === 0 ? '' : `, ${count(invalid)} wrong and left out`
  const rows = `${count(added)} added, ${count(changed)} changed, ${count(unchanged)} unchanged${skipped}`
  return `${rows}${endedText(ended)}; ${effectText(outcome)}`
}

/** The line of `bin/farewatch watch-list import --json`. */
export function importJson(outcome: ImportOutcome): string {
  const { added, changed, unchanged, ended, invalid, trackedFaresAdded, trackedFaresEnded } =
    outcome
  return JSON.stringify({
    added,
    changed,
    unchanged,
    ended,
    invalid,
    trackedFaresAdded,
    trackedFaresEnded,
  })
}

/** What else would look as if those were watched. */
function endedText(ended: number): string {
  if (ended === 0) return ''
  const are =
    ended === 1
      ? '1 watch of these has ended and stays so'
      : `${count(ended)} watches of these have ended and stay so`
  return ` (${are})`
}

/** "3 watches paused; no tracked fares added, 2 ended". */
export function changeText(outcome: ChangeOutcome, done: string): string {
  const watches = outcome.watches === 1 ? '1 watch' : `${count(outcome.watches)} watches`
  return `${watches} ${done}; ${effectText(outcome)}`
}

function effectText({ trackedFaresAdded, trackedFaresEnded }: TrackedFaresEffect): string {
  return `${countOf(trackedFaresAdded, 'tracked fare')} added, ${count(trackedFaresEnded)} ended`
}

const SIGNS: Readonly<Record<DiffRow['kind'], string>> = { added: '+', changed: '~', absent: '-' }

/** "~ summer  A-1  departs_on: 2026-08-01 -> 2026-08-02". */
export function diffLine({ kind, list, reference, cells }: DiffRow): string {
  const value = (cell: string | number | null) => (cell === null ? 'none' : String(cell))
  const changes = cells.map(
    ({ column, before, after }) => `${column}: ${value(before)} -> ${value(after)}`,
  )
  return printable([`${SIGNS[kind]} ${list}`, reference, changes.join(', ')].join('  ').trimEnd())
}

export function diffText({ added, changed, unchanged, ended, absent }: DiffOutcome): string {
  const rows = `${count(added)} to add, ${count(changed)} to change, ${count(unchanged)} unchanged`
  return `${rows}${endedText(ended)}; ${count(absent)} not in the file, which an import leaves as they are`
}
