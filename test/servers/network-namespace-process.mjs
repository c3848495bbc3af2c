// Runs in a network namespace, whose only network is its own loopback. Opens sockets there, and hands them to the tests.
import { execFileSync } from 'node:child_process'
import { connect, createServer, Server } from 'node:net'

/** Packets as long as on a line. With the long ones of a loopback, the system buffers megabytes for each connection. */
const MTU = 1500

process.on('uncaughtException', ({ message }) => {
  process.stderr.write(message)
  process.exitCode = 1
  process.disconnect()
})

run(`ip link set lo mtu ${MTU} up`)
run('tc qdisc add dev lo root handle 1: htb')
// A network without a way out is offline for browsers. This way leads nowhere.
run('ip link add out type veth peer name nowhere')
run('ip address add 192.0.2.1/24 dev out')
run('ip link set out up')
run('ip link set nowhere up')
run('ip route add default via 192.0.2.2')

const jobs = { listen, connectTo, slowDown }
process.on('message', async ({ id, job, args }) => {
  try {
    const handle = await jobs[job](...args)
    // Once a server has been handed over, only the tests accept connections.
    process.send({ id }, handle, () => handle instanceof Server && handle.close())
  } catch (error) {
    process.send({ id, error: error.message })
  }
})
// The tests are over, or were killed. The namespace ends with its last socket and process.
process.on('disconnect', () => process.exit())
process.send('ready')

function run(command) {
  const [program, ...args] = command.split(' ')
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
}

function listen(port) {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

function connectTo(port) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket)).on('error', reject)
    // The tests read what arrives.
    socket.pause()
  })
}

let lines = 0

/** Lets so many bytes a second pass to a port. Up to one second of them waits in a queue, as in a modem. What is more is lost. */
function slowDown(port, bytesPerSecond) {
  const line = `1:${(++lines).toString(16)}`
  run(`tc class add dev lo parent 1: classid ${line} htb rate ${bytesPerSecond}bps quantum ${MTU}`)
  run(`tc qdisc add dev lo parent ${line} bfifo limit ${bytesPerSecond}`)
  run(`tc filter add dev lo parent 1: protocol ip u32 match ip dport ${port} 0xffff flowid ${line}`)
}
