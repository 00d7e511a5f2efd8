// Installs what a script needs before it runs: "run" is what farewatch needs, "all" adds what tests and checks need.
// Plain JavaScript, because an older Node.js may run it.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

/** A symbolic link to the pids of the install and of its npm: it is created with its content in one step. */
const LOCK = '.install-lock'
/** Written after a success: the set, and the hash of the lock file. A tree without it may be incomplete. */
const STAMP = 'node_modules/.install-stamp'
/** After a signal npm undoes its work for up to a minute. The next install begins with an empty tree, so it need not. */
const GRACE_MS = 2_000
const POLL_MS = 100

const { devDependencies, engines } = JSON.parse(fs.readFileSync('package.json', 'utf8'))
const isOldNode = Number.parseInt(process.versions.node, 10) < Number(engines.node.slice(2))
/** What npm installs for each set. A set contains those before it. */
const SETS = [['--omit=dev'], ['--omit=dev', '--save-prod', `node@${devDependencies.node}`], []]
const wanted = process.argv[2] === 'all' ? 2 : Number(isOldNode)
const hash = createHash('sha256').update(fs.readFileSync('package-lock.json')).digest('hex')
// Not "ci", which rejects a lock file without the binaries of other platforms, as npm may write it on this platform.
const ARGS = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']

let npm
let received

/** Ends npm and what it has started: a process group of their own, which Ctrl-C on a terminal does not reach. */
function end(signal) {
  received ??= signal
  if (npm === undefined) return
  signalNpm(signal)
  setTimeout(signalNpm, GRACE_MS, 'SIGKILL').unref()
}

function signalNpm(signal) {
  try {
    process.kill(-npm.pid, signal)
  } catch {
    // The group has ended.
  }
}

/** The set and the hash of a complete tree, or nothing. */
function readStamp() {
  return fs.existsSync(STAMP) ? fs.readFileSync(STAMP, 'utf8').split(' ') : []
}

function isInstalled() {
  const [set, installed] = readStamp()
  return installed === hash && set >= wanted
}

async function lock() {
  let reported
  while (received === undefined) {
    try {
      return fs.symlinkSync(`${process.pid}`, LOCK)
    } catch (err) {
      if (err.code !== 'EEXIST') throw err
    }
    const pid = readLock().find(isRunning)
    if (pid === undefined) fs.rmSync(LOCK, { force: true })
    else if (pid !== reported) say(`waiting for the install of process ${pid}, which holds ${LOCK}`)
    reported = pid
    await delay(POLL_MS)
  }
}

function readLock() {
  try {
    return fs.readlinkSync(LOCK).split(' ')
  } catch {
    return []
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch (err) {
    return err.code === 'EPERM'
  }
}

/** Returns the exit code. */
async function install() {
  const [installed] = readStamp()
  const set = Math.max(wanted, installed ?? 0)
  say('installing dependencies; this happens once and takes about half a minute')
  fs.rmSync(installed === undefined ? 'node_modules' : STAMP, { recursive: true, force: true })
  npm = spawn('npm', [...ARGS, ...SETS[set]], { stdio: ['ignore', 2, 2], detached: true })
  const ended = once(npm, 'exit')
  // If this process is killed, the next install waits for its npm.
  fs.symlinkSync(`${process.pid} ${npm.pid}`, `${LOCK}.new`)
  fs.renameSync(`${LOCK}.new`, LOCK)
  const [status] = await ended
  signalNpm('SIGKILL')
  if (status === 0 && received === undefined) fs.writeFileSync(STAMP, `${set} ${hash}`)
  return status ?? 1
}

function say(text) {
  process.stderr.write(`farewatch: ${text}\n`)
}

if (!isInstalled()) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end)
  // A shell that is ended by npm passes no signal on.
  const parent = process.ppid
  setInterval(() => process.ppid === parent || end('SIGTERM'), POLL_MS).unref()
  await lock()
  try {
    if (received === undefined && !isInstalled()) process.exitCode = await install()
  } finally {
    if (readLock()[0] === `${process.pid}`) fs.unlinkSync(LOCK)
  }
  if (received !== undefined) process.exitCode = 128 + constants.signals[received]
}
