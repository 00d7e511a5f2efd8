import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../..')

const pages = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((name) => name !== '' && existsSync(path.join(ROOT, name)))

const read = (name: string) => readFileSync(path.join(ROOT, name), 'utf8')

/** The anchors that a page offers, as GitHub derives them from its headings. */
function anchorsOf(name: string): string[] {
  return [...read(name).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** The links of a page to files and sections of this repository. */
function linksOf(name: string): { link: string; file: string; anchor: string }[] {
  return [...read(name).matchAll(/\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)/g)].map(
    ([link, target = '', anchor = '']) => ({
      link,
      file: target === '' ? name : path.join(path.dirname(name), target),
      anchor,
    }),
  )
}

describe('the documentation', () => {
  it('has pages with links', () => {
    expect(pages.length).toBeGreaterThan(15)
    expect(pages.flatMap(linksOf).length).toBeGreaterThan(80)
  })

  it.each(pages)('of %s links only to files and sections that exist', (name) => {
    const broken = linksOf(name).filter(
      ({ file, anchor }) =>
        !existsSync(path.join(ROOT, file)) ||
        (anchor !== '' && file.endsWith('.md') && !anchorsOf(file).includes(anchor)),
    )
    expect(broken.map(({ link }) => link)).toEqual([])
  })

  it('answers every reader within two clicks from the README', () => {
    const reach = (names: readonly string[]) =>
      names.flatMap(linksOf).map(({ file }) => path.normalize(file))
    const first = reach(['README.md'])
    const second = reach(first.filter((file) => file.endsWith('.md')))
    const reachable = new Set([...first, ...second])
    const unreachable = pages.filter(
      (name) => /^docs\/(?!decisions)/.test(name) && !reachable.has(name),
    )
    expect(unreachable).toEqual([])
  })
})
