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

/** What the program knows: which codes, what to run, what to do, and which alert, whose description has the rest. */
function headOf(section: string, helps: readonly CodeHelp[]): string {
  const codes = helps.map(({ code }) => code)
  const names =
    codes.length === 1 && codes[0] === section ? [] : [`codes: ${codes.map(code).join(', ')}`]
  // What only doctor finds it prints with the command and what to do.
  const shown = section === 'doctor' ? [] : helps
  const commands = distinct(shown.map(({ check }) => check?.command)).map(
    (one) => `run: ${code(`farewatch ${one}`)}`,
  )
  const todos = distinct(shown.map(({ check }) => check?.todo)).map((todo) => `do: ${todo}`)
  const alerts = distinct(helps.map(({ alert }) => alert && alertText(alert)))
  return [...names, ...commands, ...todos, ...alerts].map((line) => `> - ${line}`).join('\n')
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
