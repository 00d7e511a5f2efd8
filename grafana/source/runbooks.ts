import { readFileSync } from 'node:fs'
import type { Dashboard } from './shapes.ts'

const PAGE = new URL('../../docs/reference/runbooks.md', import.meta.url)
const UID = 'farewatch-runbooks'

interface Section {
  readonly title: string
  readonly markdown: string
}

/** The sections of docs/reference/runbooks.md: one for each alert. */
export function runbookSections(): Section[] {
  const [, ...sections] = readFileSync(PAGE, 'utf8').split(/^## /m)
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n')
    return { title, markdown: withoutPageLinks(lines.join('\n').trim()) }
  })
}

/** Replaces links between pages by their text, because they do not work in Grafana. */
function withoutPageLinks(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]*\)/g, '$1')
}

/** The link of a panel to the runbook of an alert, or to `all` runbooks. */
export function runbookLink(alert: string): object {
  if (alert === 'all') return { title: 'Runbooks', url: `/d/${UID}`, targetBlank: true }
  const at = runbookSections().findIndex(({ title }) => title === alert)
  if (at === -1) throw new Error(`docs/reference/runbooks.md has no section ${alert}`)
  return { title: `Runbook: ${alert}`, url: `/d/${UID}?viewPanel=${at + 1}`, targetBlank: true }
}

export function runbooksDashboard(): Dashboard {
  const rows = runbookSections().map(({ title, markdown }) => {
    return { height: 20, panels: [{ kind: 'text' as const, title, markdown }] }
  })
  return {
    uid: UID,
    title: 'Runbooks',
    question: 'What does an alert mean, and what must be done?',
    rows,
  }
}
