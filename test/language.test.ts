import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { RETIRED_PHRASES, RETIRED_WORDS } from './language/retired-words.ts'
import { type Prose, partsOf, wordsOf } from './language/words-of.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const LISTS = 'test/language/'

/** Files whose past wording stays: landed migrations, decisions and the changelog. */
const EXEMPT = /^(migrations|docs\/decisions)\/|^CHANGELOG\.md$|^test\/language/

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((name) => name !== '' && !EXEMPT.test(name) && existsSync(path.join(ROOT, name)))

const code = files
  .filter((name) => /^(src|test|bench|grafana|bin)\/.*\.(ts|mjs|js)$/.test(name))
  .map((name) => ({ name, ...wordsOf(readFileSync(path.join(ROOT, name), 'utf8')) }))

/** Documents and configuration are prose from end to end. */
const documents = files
  .filter((name) => /\.(md|yml|sql)$/.test(name) || name === '.env.example')
  .map((name) => ({
    name,
    prose: readFileSync(path.join(ROOT, name), 'utf8')
      .split('\n')
      .map((text, index): Prose => ({ text, line: index + 1 })),
  }))

function retiredIn(name: string, file: string): string[] {
  const parts = partsOf(name)
  return RETIRED_WORDS.filter(
    ({ word, unless = [] }) =>
      parts.includes(` ${word} `) && !unless.some((folder) => file.startsWith(folder)),
  ).map(({ word, use }) => `"${word}" is retired, use: ${use}`)
}

describe('the language of the code', () => {
  it('is read from identifiers, file names and prose', () => {
    expect(code.length).toBeGreaterThan(500)
    expect(code.flatMap(({ identifiers }) => identifiers).length).toBeGreaterThan(20_000)
    expect(code.flatMap(({ prose }) => prose).length).toBeGreaterThan(5_000)
    expect(retiredIn('giveBackOddity', 'src/x.ts')).toHaveLength(2)
    expect(files.some((name) => name.startsWith(LISTS))).toBe(false)
  })

  it('has no retired word in an identifier', () => {
    const found = code.flatMap(({ name: file, identifiers }) =>
      identifiers.flatMap(({ name, line }) =>
        retiredIn(name, file).map((why) => `${file}:${line} ${name}: ${why}`),
      ),
    )
    expect(found).toEqual([])
  })

  it('has no retired word in the name of a file', () => {
    const found = code.flatMap(({ name }) =>
      retiredIn(name.replace(/\.\w+$/, ''), name).map((why) => `${name}: ${why}`),
    )
    expect(found).toEqual([])
  })

  it('has no retired phrase in comments, messages, test names or documents', () => {
    const found = [...code, ...documents].flatMap(({ name, prose }) =>
      prose.flatMap(({ text, line }) =>
        RETIRED_PHRASES.filter((phrase) => phrase.test(text)).map(
          (phrase) => `${name}:${line} ${phrase}: ${text.slice(0, 100)}`,
        ),
      ),
    )
    expect(found).toEqual([])
  })
})
