import { readFileSync } from 'node:fs'
import type { Dashboard } from './shapes.ts'

const PAGE = new URL('../../docs/reference/runbooks.md', import.meta.url)
const UID = 'farewatch-runbooks'

interface Section {
  readonly title: string
  readonly markdown: string
}

/** The sections of docs/reference/runbooks.md: one for each thing that can be wrong. */
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

/** The link of a panel to a section of the runbooks, or to `all`. */
export function runbookLink(code: string): object {
  if (code === 'all') return { title: 'Runbooks', url: `/d/${UID}`, targetBlank: true }
  const at = runbookSections().findIndex(({ title }) => title === code)
  if (at === -1) throw new Error(`docs/reference/runbooks.md has no section ${code}`)
  return { title: `Runbook: ${code}`, url: `/d/${UID}?viewPanel=${at + 1}`, targetBlank: true }
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
