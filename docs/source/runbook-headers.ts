import { readFileSync } from 'node:fs'
import { type CodeHelp, codeHelps, DEGRADED } from '../../grafana/source/alerts.ts'

const PATH = new URL('../reference/runbooks.md', import.meta.url)

/** The page of the runbooks with the head of each section replaced: the lines of a quotation below its title. */
export function runbooksPage() {
  const current = readFileSync(PATH, 'utf8')
  const helps = Map.groupBy(codeHelps(), ({ section }) => section)
  const generated = current.replaceAll(
    /^## (\w+)\n\n(?:>.*\n)*\n?/gm,
    (_, section: string) => `## ${section}\n\n${headOf(section, helps.get(section) ?? [])}\n\n`,
  )
  return { name: 'runbooks.md', path: PATH, current, generated }
}

/** What the program knows: what to run and to do, of each code where a section has several, and which alert. */
function headOf(section: string, helps: readonly CodeHelp[]): string {
  const alerts = distinct(helps.map(({ alert }) => alert && alertText(alert)))
  const isOne = helps.length === 1 && helps[0]?.code === section
  const lines = isOne ? helps.flatMap(linesOf) : [...Map.groupBy(helps, textOf)].map(sharedLine)
  return [...lines, ...alerts].map((line) => `> - ${line}`).join('\n')
}

function linesOf({ check }: CodeHelp): string[] {
  return check === undefined ? [] : [`run: ${commandOf(check)}`, `do: ${check.todo}`]
}

/** What only doctor finds it prints with the command and what to do. */
function textOf({ section, check }: CodeHelp): string {
  return section === 'doctor' || check === undefined ? '' : ` (${commandOf(check)}): ${check.todo}`
}

function sharedLine([text, helps]: readonly [string, readonly CodeHelp[]]): string {
  return `${helps.map((help) => code(help.code)).join(', ')}${text}`
}

function commandOf({ command }: NonNullable<CodeHelp['check']>): string {
  return code(`farewatch ${command}`)
}

function alertText({ name, after }: NonNullable<CodeHelp['alert']>): string {
  const severity = name === DEGRADED ? 'warning' : 'critical'
  return `alert: ${code(name)} (${severity}) after ${after.replace('m', ' min')}.`
}

function distinct(texts: readonly (string | undefined)[]): string[] {
  return [...new Set(texts.flatMap((text) => text ?? []))]
}

function code(text: string): string {
  return `\`${text}\``
}
