/** Whether a process of this machine has the pid. One of another user counts too. */
export function isRunning(pid: number): boolean {
  // 0 and negative numbers mean groups of processes.
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    return process.kill(pid, 0)
  } catch (err) {
    return (err as { code?: unknown }).code !== 'ESRCH'
  }
}
