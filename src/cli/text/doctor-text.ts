import type { Finding, FindingLevel } from '../../app/doctor/doctor-finding.ts'
import { printable } from './text-format.ts'
import { besideName } from './wrap-text.ts'

export interface Screen {
  /** In characters; infinite in a pipe. */
  readonly width: number
  readonly colours: boolean
}

const WORDS: Readonly<Record<FindingLevel, string>> = { ok: 'ok', look: 'look', wrong: 'WRONG' }
const COLOURS: Readonly<Record<FindingLevel, string>> = {
  ok: '\x1b[32m',
  look: '\x1b[33m',
  wrong: '\x1b[31m',
}
const RESET = '\x1b[0m'

/** One line a finding, what to do under it, and the sum of all at the end. */
export function doctorText(findings: readonly Finding[], screen: Screen): string {
  return [...findings.map((finding) => findingText(finding, screen)), '', sumText(findings)].join(
    '\n',
  )
}

function findingText({ about, level, says, todo }: Finding, { width, colours }: Screen): string {
  const word = WORDS[level].padEnd(7)
  const name = `${word}${about.padEnd(14)}`
  const text = besideName(name, printable(says), width)
  const coloured = colours ? `${COLOURS[level]}${word}${RESET}${text.slice(word.length)}` : text
  if (todo === null) return coloured
  return `${coloured}\n${besideName(`${' '.repeat(name.length)}→ `, printable(todo), width)}`
}

function sumText(findings: readonly Finding[]): string {
  const of = (level: FindingLevel) => findings.filter((finding) => finding.level === level).length
  const looks = of('look') === 0 ? '' : `, ${of('look')} to look at`
  return of('wrong') === 0 ? `nothing is wrong${looks}` : `${of('wrong')} wrong${looks}`
}
