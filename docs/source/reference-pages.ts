import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { EXIT, EXIT_MEANINGS } from '../../src/cli/exit-codes.ts'
import { createProgram } from '../../src/cli/program.ts'
import { CIRCUMSTANCES, type Confirmation, confirmationOf } from '../../src/fares/decide.ts'
import { CONTRADICTIONS } from '../../src/fares/state.ts'
import type { Setting } from '../../src/platform/config/setting-types.ts'
import { ADVANCED_SETTINGS, COMMON_SETTINGS } from '../../src/platform/config/settings.ts'
import { PROBLEMS } from '../../src/platform/http/problem-codes.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { eventFiles, eventsPart } from './event-pages.ts'
import { workedQuestionsPart } from './worked-questions.ts'

type Registry = ReturnType<typeof createMetrics>['registry']

const PROGRAM = await createProgram()

/** The generated parts of each page, by the name in their markers. */
const PARTS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'truth.md': { confirmations: confirmationsPart },
  'cli.md': { commands: commandsPart, 'exit codes': exitCodesPart },
  'settings.md': {
    settings: () => settingsTable(COMMON_SETTINGS),
    'advanced settings': () => settingsTable(ADVANCED_SETTINGS),
  },
  'events.md': { events: eventsPart },
  'problem-codes.md': { 'problem codes': problemsPart },
  'worked-questions.md': { questions: workedQuestionsPart },
  'metrics.md': {
    'metrics of one process': () => metricsTable(createMetrics().registry),
    'metrics of the whole system': () => metricsTable(createMetrics().systemRegistry),
  },
}

export interface ReferencePage {
  readonly name: string
  readonly path: URL
  readonly current: string
  /** The page with every generated part replaced; the text between the parts stays. */
  readonly generated: string
}

/**
 * The pages of docs/reference with generated parts, and the files of docs/events. Throws where a page lacks the markers
 * of a part.
 */
export function referencePages(): ReferencePage[] {
  const pages = Object.entries(PARTS).map(([name, parts]) => {
    const path = new URL(`../reference/${name}`, import.meta.url)
    const current = readFileSync(path, 'utf8')
    const generated = Object.entries(parts).reduce(
      (page, [part, render]) => withPart(page, part, render()),
      current,
    )
    return { name, path, current, generated }
  })
  return [...pages, ...eventFiles()]
}

function withPart(page: string, part: string, text: string): string {
  const begin = `<!-- begin generated: ${part} -->\n`
  const end = `<!-- end generated: ${part} -->\n`
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`the page lacks the markers of "${part}"`)
  return `${page.slice(0, from)}${begin}\n${text.trim()}\n\n${page.slice(to)}`
}

/** How many answers confirm each contradiction, in each circumstance. */
function confirmationsPart(): string {
  const rows = CONTRADICTIONS.map((contradiction) => [
    `\`${contradiction}\``,
    ...CIRCUMSTANCES.map((one) => confirmationText(confirmationOf(contradiction, one))),
  ])
  const header = ['contradiction', ...CIRCUMSTANCES.map((one) => `\`${one}\``)]
  const lines = [header, header.map(() => '---'), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  )
  return lines.join('\n')
}

function confirmationText({ answers, setting, gapSeconds }: Confirmation): string {
  const named = setting === undefined ? String(answers) : `\`${setting}\``
  const count = setting !== undefined && answers > 1 ? `${named}, at least ${answers}` : named
  return gapSeconds === 0 || (answers === 1 && setting === undefined)
    ? count
    : `${count}; ${gapSeconds} s apart`
}

/** Each group of commands as a section, each command with its help. */
function commandsPart(): string {
  const groups = Map.groupBy(PROGRAM.commands, (command) => command.helpGroup())
  return [...groups]
    .map(([group, commands]) => {
      const sections = commands.flatMap((command) => commandSections(command, command.name()))
      return [`## ${group.replace(/:$/, '')}`, ...sections].join('\n\n')
    })
    .join('\n\n')
}

function commandSections(command: Command, words: string): string[] {
  const below = command.commands.flatMap((child) =>
    commandSections(child, `${words} ${child.name()}`),
  )
  const help = helpOf(command, words)
  const block = help === '' ? [] : [`\`\`\`text\n${help}\n\`\`\``]
  return [[`### ${words}`, `${command.description()}.`, ...block].join('\n\n'), ...below]
}

/** Options that the head of the page explains for all commands. */
const COMMON_OPTIONS = ['--help', '--json']

/** The help of a command without what the page shows elsewhere, and without an example that is only its name. */
function helpOf(command: Command, words: string): string {
  const parts: string[] = []
  // The page must not depend on the terminal in which it is written.
  command.configureOutput({
    writeOut: (part) => void parts.push(part),
    getOutHelpWidth: () => 80,
    getOutHasColors: () => false,
  })
  command.configureHelp({
    commandDescription: () => '',
    visibleCommands: () => [],
    visibleOptions: ({ options }) =>
      options.filter(({ long, hidden }) => !hidden && !COMMON_OPTIONS.includes(long ?? '')),
  })
  command.outputHelp()
  const name = `bin/farewatch ${words}`
  return parts
    .join('')
    .replace(/^Usage: bin\/(.*)$/m, (_, usage: string) =>
      usage.replace(/ \[(options|command)\]/g, ''),
    )
    .replace(/^.*\n/, (usage) => (usage === `farewatch ${words}\n` ? '' : usage))
    .replace(`\nExample:\n  ${name}\n`, '')
    .trim()
}

function exitCodesPart(): string {
  const rows = Object.entries(EXIT).map(([name, code]) => [
    String(code),
    name,
    EXIT_MEANINGS[name as keyof typeof EXIT],
  ])
  return tableOf(['code', 'name', 'meaning'], rows)
}

function settingsTable(settings: Readonly<Record<string, Setting<unknown>>>): string {
  const rows = Object.entries(settings).map(([name, { about, accepts, preset, secret }]) => [
    code(name),
    preset === undefined ? '' : code(String(preset)),
    accepts,
    `${about}${secret ? ' (secret)' : ''}`,
  ])
  return tableOf(['setting', 'default', 'accepts', 'what it does'], rows)
}

function problemsPart(): string {
  const rows = Object.entries(PROBLEMS).map(([name, { status, title, cause, remedy }]) => [
    code(name),
    String(status),
    title,
    cause,
    remedy,
  ])
  return tableOf(['code', 'status', 'title', 'cause', 'remedy'], rows)
}

function metricsTable(registry: Registry): string {
  const rows = registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('farewatch_'))
    .map((metric) => {
      const { labelNames, help } = metric as unknown as { labelNames: string[]; help: string }
      return [code(metric.name), String(metric.type), labelNames.map(code).join(', '), help]
    })
  return tableOf(['metric', 'type', 'labels', 'what'], rows)
}

function code(text: string): string {
  return `\`${text}\``
}

function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const lines = [headings, headings.map(() => '---'), ...escaped]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
