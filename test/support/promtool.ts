import { spawnSync } from 'node:child_process'

/**
 * Whether this machine has Prometheus and promtool. With REQUIRE_PROMETHEUS=1 a missing one is an error, so that CI
 * cannot skip these tests silently.
 */
export function hasPrometheus(): boolean {
  return hasPrograms(['promtool', 'prometheus'], 'prometheus')
}

/** Whether this machine has amtool, which checks the configuration of an Alertmanager. */
export function hasAmtool(): boolean {
  return hasPrograms(['amtool'], 'prometheus-alertmanager')
}

function hasPrograms(names: readonly string[], packageName: string): boolean {
  const missing = names.filter((name) => spawnSync(name, ['--version']).error !== undefined)
  if (missing.length > 0 && process.env.REQUIRE_PROMETHEUS !== undefined) {
    throw new Error(`${missing.join(' and ')} is required here: install the package ${packageName}`)
  }
  return missing.length === 0
}

interface ToolOptions {
  readonly cwd?: string
  readonly input?: string
}

interface ToolResult {
  readonly exit: number | null
  readonly output: string
}

/** Runs promtool. Returns its exit code and its output. */
export function promtool(args: readonly string[], options: ToolOptions = {}): ToolResult {
  return runTool('promtool', args, options)
}

/** Runs amtool. Returns its exit code and its output. */
export function amtool(args: readonly string[], options: ToolOptions = {}): ToolResult {
  return runTool('amtool', args, options)
}

function runTool(name: string, args: readonly string[], options: ToolOptions): ToolResult {
  const { status, stdout, stderr } = spawnSync(name, args, { ...options, encoding: 'utf8' })
  return { exit: status, output: `${stdout}${stderr}` }
}
