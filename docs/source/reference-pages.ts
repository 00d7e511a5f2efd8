import { readFileSync } from 'node:fs'
import type { Parameter } from '../../sandbox/faults/fault-parameters.ts'
import { FAULTS } from '../../sandbox/faults/fault-rule.ts'
import { EXIT, EXIT_MEANINGS } from '../../src/cli/exit-codes.ts'
import { CIRCUMSTANCES, type Confirmation, confirmationOf } from '../../src/fares/decide.ts'
import { CONTRADICTIONS, kindOf, WATCH_CHANGE_KINDS } from '../../src/platform/base/change-kinds.ts'
import { SETTING_GROUPS } from '../../src/platform/config/settings.ts'
import { PROBLEMS } from '../../src/platform/http/problem-codes.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { eventFiles, eventsPart } from './event-pages.ts'
import { testedFaultsPart } from './faults-page.ts'
import { runbooksPage } from './runbook-headers.ts'
import { workedQuestionsPart } from './worked-questions.ts'

type Registry = ReturnType<typeof createMetrics>['registry']

/** The generated parts of each page, by the name in their markers. */
const PARTS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  '../resellers.md': { kinds: kindsPart },
  '../../test/faults/faults.md': { 'faults and their tests': testedFaultsPart },
  'truth.md': { confirmations: confirmationsPart },
  'cli.md': { 'exit codes': exitCodesPart },
  'settings.md': { settings: settingsPart },
  'events.md': { events: eventsPart },
  'sandbox.md': { faults: faultsPart },
  'problem-codes.md': { 'problem codes': problemsPart },
  'worked-questions.md': { questions: workedQuestionsPart },
  'metrics.md': {
    'metrics of one process': () => metricsPart(createMetrics().registry),
    'metrics of the whole system': () => gaugesPart(createMetrics().systemRegistry),
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
  return [...pages, runbooksPage(), ...eventFiles()]
}

function withPart(page: string, part: string, text: string): string {
  const begin = `<!-- begin generated: ${part} -->\n`
  const end = `<!-- end generated: ${part} -->\n`
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`the page lacks the markers of "${part}"`)
  return `${page.slice(0, from)}${begin}\n${text.trim()}\n\n${page.slice(to)}`
}

/** How many answers confirm each contradiction, in each circumstance. Contradictions that are alike share a row. */
function confirmationsPart(): string {
  const cellsOf = (contradiction: (typeof CONTRADICTIONS)[number]) =>
    CIRCUMSTANCES.map((one) => confirmationText(confirmationOf(contradiction, one)))
  const alike = Map.groupBy(CONTRADICTIONS, (one) => cellsOf(one).join(' | '))
  const rows = [...alike.values()].map((names) => [
    names.map(code).join(', '),
    ...(names[0] === undefined ? [] : cellsOf(names[0])),
  ])
  return tableOf(['contradiction', ...CIRCUMSTANCES.map(code)], rows)
}

function confirmationText({ answers, setting, gapSeconds }: Confirmation): string {
  const named = setting === undefined ? String(answers) : `\`${setting}\``
  const count = setting !== undefined && answers > 1 ? `${named}, at least ${answers}` : named
  return gapSeconds === 0 || (answers === 1 && setting === undefined)
    ? count
    : `${count}; ${gapSeconds} s apart`
}

/** What each kind of a reseller's records says. */
function kindsPart(): string {
  return WATCH_CHANGE_KINDS.map((kind) => line(code(kind), [], kindOf(kind).about)).join('\n')
}

/** The faults of the sandbox, by the endpoints that they change. */
function faultsPart(): string {
  const groups = Map.groupBy(Object.entries(FAULTS), ([, { endpoints }]) => endpoints.join(', '))
  return [...groups]
    .map(([endpoints, faults]) => {
      const lines = faults.map(([name, { summary, parameters }]) =>
        line(code(name), Object.entries(parameters).map(parameterText), summary),
      )
      return `${endpoints}:\n\n${lines.join('\n')}`
    })
    .join('\n\n')
}

function parameterText([name, { accepts, initial }]: readonly [string, Parameter<unknown>]) {
  const choices = /^one of (.+)/.exec(accepts)?.[1]?.replaceAll(', ', '/')
  return `${code(name)} ${choices ?? `${accepts.replace('a whole number from ', '')} = ${initial}`}`
}

function exitCodesPart(): string {
  const rows = Object.entries(EXIT).map(([name, code]) => [
    String(code),
    name,
    EXIT_MEANINGS[name as keyof typeof EXIT],
  ])
  return tableOf(['code', 'name', 'meaning'], rows)
}

/** Each group of settings as a section. */
function settingsPart(): string {
  return Object.entries(SETTING_GROUPS)
    .map(([group, settings]) => {
      const lines = Object.entries(settings).map(([name, setting]) => {
        const { about, accepts, example, preset, secret } = setting
        const values =
          preset === undefined || preset === ''
            ? `${accepts}, such as ${code(example)}`
            : accepts.replace(/^(a whole number from|one of|the name of) /, '')
        const usual = preset === undefined || preset === '' ? '' : ` = ${code(String(preset))}`
        return line(`${code(name)}${usual}`, [values, secret ? 'secret' : ''], about)
      })
      return `## ${group}\n\n${lines.join('\n')}`
    })
    .join('\n\n')
}

/** The page of a code, which the API serves, adds the remedy. */
function problemsPart(): string {
  return Object.entries(PROBLEMS)
    .map(([name, { status, cause }]) => line(code(name), [String(status)], cause))
    .join('\n')
}

function metricsPart(registry: Registry): string {
  return metricsOf(registry)
    .map(({ name, type, labels, help }) => line(`${name} ${type}`, labels, help))
    .join('\n')
}

/** What is read from the stores is a gauge: each line would say so. */
function gaugesPart(registry: Registry): string {
  const metrics = metricsOf(registry)
  const other = metrics.find(({ type }) => type !== 'gauge')
  if (other !== undefined) throw new Error(`${other.name} is no gauge, as the page says`)
  return metrics.map(({ name, labels, help }) => line(name, labels, help)).join('\n')
}

/** An item of a list, as the dictionary has them. */
function line(head: string, details: readonly string[], text: string): string {
  const given = details.filter((detail) => detail !== '').join(', ')
  return `- ${head}${given === '' ? '' : ` (${given})`}: ${text}`
}

function metricsOf(registry: Registry) {
  const ours = registry.getMetricsAsArray().filter(({ name }) => name.startsWith('farewatch_'))
  return ours.map((metric) => {
    const { labelNames, help } = metric as unknown as { labelNames: string[]; help: string }
    const labels = labelNames.map(code)
    return { name: code(metric.name), type: String(metric.type), labels, help }
  })
}

function code(text: string): string {
  return `\`${text}\``
}

function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const lines = [headings, headings.map(() => '---'), ...escaped]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
