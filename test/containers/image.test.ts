import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { ROOT } from './compose-file.ts'

const DOCKERFILE = readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8').replace(/\\\n/g, ' ')
const instructions = DOCKERFILE.split('\n')
  .map((line) => line.trim())
  .filter((line) => line !== '' && !line.startsWith('#'))
const lastFrom = instructions.findLastIndex((line) => line.startsWith('FROM '))
const finalStage = instructions.slice(lastFrom)

/** The paths that the last stage copies from the first one. */
const copied = finalStage
  .filter((line) => line.startsWith('COPY '))
  .map((line) => /^COPY --from=build \/app\/(\S+) /.exec(line)?.[1])

function sourceTexts(): string[] {
  return readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(path.join(ROOT, 'src', name), 'utf8'))
}

describe('the Dockerfile', () => {
  it('runs the program as an ordinary user', () => {
    expect(finalStage.filter((line) => line.startsWith('USER '))).toEqual(['USER node'])
  })

  it('checks the health of the program with node alone', () => {
    const [check = ''] = finalStage.filter((line) => line.startsWith('HEALTHCHECK '))

    expect(check).toMatch(/CMD \["node", "-e", "fetch/)
    expect(check).toContain('/readyz')
  })

  it('installs every package that the program imports, except what is asked for when it is missing', () => {
    const { dependencies, peerDependencies } = packageJson
    const known = new Set(Object.keys({ ...dependencies, ...peerDependencies }))
    const imported = sourceTexts().flatMap((text) =>
      [
        ...text.matchAll(
          /(?:^(?:import|export)\b[^'"]*?from |^import |\bimport\()'([^'.][^']*)'/gm,
        ),
      ].map((match) => match[1] ?? ''),
    )
    const packages = imported
      .filter((name) => !isBuiltin(name))
      .map((name) =>
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/'),
      )

    expect(packages.length).toBeGreaterThan(20)
    expect([...new Set(packages)].filter((name) => !known.has(name))).toEqual([])
  })

  it('copies every file that the program reads in addition to its sources', () => {
    const extra = sourceTexts().flatMap((text) =>
      [...text.matchAll(/'(?:\.\.\/)+(package\.json|migrations|docs|deploy|grafana)[/']/g)].map(
        (match) => match[1],
      ),
    )

    expect(new Set(extra)).toEqual(new Set(['package.json', 'migrations', 'deploy', 'docs']))
    expect(copied).toEqual(
      expect.arrayContaining(['node_modules', 'bin', 'sandbox', 'src', ...extra]),
    )
  })
})

describe('the content of the image', () => {
  /** The folder /app of the image, with the packages of this checkout. */
  function appFolder(): string {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'farewatch-image-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    for (const name of copied) {
      if (name === undefined)
        throw new Error('the last stage copies from another place than the first stage')
      if (name === 'node_modules') symlinkSync(path.join(ROOT, name), path.join(folder, name))
      else cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true })
    }
    return folder
  }

  it('is enough for the program', () => {
    const folder = appFolder()

    const { stdout, stderr } = spawnSync(path.join(folder, 'bin/farewatch'), ['openapi'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '' },
      encoding: 'utf8',
    })

    expect(`${stdout}${stderr}`).toContain('"openapi"')
  })
})
