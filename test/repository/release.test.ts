import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = path.join(import.meta.dirname, '../..')
const GIT_USER = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']

/** A repository that is ready for version 1.2.3, whose checks end with the given command. */
function repository({
  checks = 'true',
  changelog = '## [1.2.3] - 2030-01-31\n',
  client = '1.2.3',
} = {}) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'farewatch-release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (name: string, text: string, mode = 0o644) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text, { mode })
  }
  const versionFile = (version: string) =>
    `${JSON.stringify({ name: 'x', version, private: true }, null, 2)}\n`
  write('package.json', versionFile('1.2.3'))
  write('clients/typescript/package.json', versionFile(client))
  write('CHANGELOG.md', changelog)
  write('.ci/run', `#!/bin/sh\n${checks}\n`, 0o755)
  copyFileSync(path.join(ROOT, '.ci/release'), path.join(folder, '.ci/release'))
  const git = (...args: string[]) =>
    spawnSync('git', [...GIT_USER, ...args], { cwd: folder, encoding: 'utf8' }).stdout.trim()
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'all')
  const release = (version = '1.2.3') => {
    const env = {
      ...process.env,
      GIT_COMMITTER_NAME: 'test',
      GIT_COMMITTER_EMAIL: 'test@example.com',
    }
    const { status, stderr } = spawnSync('.ci/release', [version], {
      cwd: folder,
      encoding: 'utf8',
      env,
    })
    return { status, stderr, tags: git('tag') }
  }
  return { write, git, release }
}

describe('the release script', () => {
  it('tags a version whose checks pass', () => {
    expect(repository().release()).toEqual({ status: 0, stderr: '', tags: 'v1.2.3' })
  })

  it.for<[string, Parameters<typeof repository>[0], string]>([
    [
      'a changelog without the version',
      { changelog: '## [1.2.2]\n' },
      'CHANGELOG.md has no section for 1.2.3',
    ],
    [
      'a client of another version',
      { client: '1.2.2' },
      'clients/typescript/package.json has another version than 1.2.3',
    ],
    ['checks that fail', { checks: 'exit 7' }, ''],
  ])('refuses %s', ([, options, message]) => {
    const { status, stderr, tags } = repository(options).release()

    expect({ fails: status !== 0, tags }).toEqual({ fails: true, tags: '' })
    expect(stderr).toContain(message)
  })

  it('refuses a dirty tree, another branch, a word for a version, and a tag that exists', () => {
    const { write, git, release } = repository()

    expect(release('next').stderr).toContain('name the version')
    write('new.txt', 'x')
    expect(release().stderr).toContain('not committed')
    git('checkout', '-qb', 'other')
    git('add', '-A')
    git('commit', '-qm', 'new')
    expect(release().stderr).toContain('from the branch main')
    git('checkout', '-q', 'main')
    git('tag', 'v1.2.3')
    expect(release().stderr).toContain('the tag v1.2.3 exists')
  })
})

it('the SBOM names what the program needs at run time, and nothing of development', () => {
  const { stdout } = spawnSync('node', ['.ci/sbom.mjs'], { cwd: ROOT, encoding: 'utf8' })
  const { components } = JSON.parse(stdout) as { components: { purl: string }[] }
  const named = new Set(
    components.map(({ purl }) => decodeURIComponent(purl).replace(/^pkg:npm\/(.*)@.*$/, '$1')),
  )

  expect(Object.keys(packageJson.dependencies).filter((name) => !named.has(name))).toEqual([])
  expect(Object.keys(packageJson.devDependencies).filter((name) => named.has(name))).toEqual([])
})
