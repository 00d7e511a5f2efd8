// Installs missing dependencies before a script runs. Plain JavaScript, because an older Node.js may run it.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Not "ci", which rejects a lock file without the binaries of other platforms, as npm may write it on this platform.
const ARGS = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']

const root = fileURLToPath(new URL('..', import.meta.url))
const installed = `${root}node_modules/.package-lock.json`
const wanted = `${root}package-lock.json`
const runtime = `${root}node_modules/.bin/node`

const fresh =
  existsSync(installed) &&
  existsSync(runtime) &&
  statSync(installed).mtimeMs >= statSync(wanted).mtimeMs

if (!fresh) {
  process.stderr.write(
    'farewatch: installing dependencies; this happens once and takes about half a minute\n',
  )
  const { status } = spawnSync('npm', ARGS, {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  process.exit(status ?? 1)
}
