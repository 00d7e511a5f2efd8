import type { ChangeOutcome } from '../../watches/change-watches.ts'
import type { DiffOutcome, DiffRow } from '../../watches/import/diff-watch-list.ts'
import type { ImportOutcome } from '../../watches/import/import-watch-list.ts'
import type { ImportPlan } from '../../watches/import/plan-import.ts'
import type { TrackedFaresEffect } from '../../watches/sync-tracked-fares.ts'
import { count, countOf, pick, printable } from './text-format.ts'

/** The outcome of an import as one sentence. */
export function importText(outcome: ImportOutcome): string {
  const { added, changed, unchanged, invalid } = outcome
  const skipped = invalid === 0 ? '' : `, ${count(invalid)} invalid and skipped`
  const rows = `${count(added)} added, ${count(changed)} changed, ${count(unchanged)} unchanged${skipped}`
  return `${rows}${notesText(outcome)}; ${effectText(outcome)}`
}

/** The JSON of `watch-list import`. */
export function importResult(outcome: ImportOutcome) {
  return {
    ...pick(outcome, 'added', 'changed', 'unchanged', 'ended', 'cleared', 'invalid'),
    ...pick(outcome, 'trackedFaresAdded', 'trackedFaresEnded'),
  }
}

/** Ended watches among the rows, which an import does not begin again, and watches that lose a setting. */
function notesText({ ended, cleared }: Pick<ImportPlan, 'ended' | 'cleared'>): string {
  const notes = [
    ...(ended === 1 ? ['1 watch of these has ended and stays ended'] : []),
    ...(ended > 1 ? [`${count(ended)} watches of these have ended and stay ended`] : []),
    ...(cleared === 1 ? ['1 watch of these loses a setting that the file leaves out'] : []),
    ...(cleared > 1
      ? [`${count(cleared)} watches of these lose settings that the file leaves out`]
      : []),
  ]
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`
}

/** "3 watches paused; no tracked fares added, 2 ended". */
export function changeText(outcome: ChangeOutcome, done: string): string {
  return `${countOf(outcome.watches, 'watch', 'watches')} ${done}; ${effectText(outcome)}`
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

export function diffText({ added, changed, unchanged, absent, ...notes }: DiffOutcome): string {
  const rows = `${count(added)} to add, ${count(changed)} to change, ${count(unchanged)} unchanged`
  return `${rows}${notesText(notes)}; ${count(absent)} not in the file, which an import does not change`
}
