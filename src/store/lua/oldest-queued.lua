-- Reads only.
-- Finds the oldest entry in any queue.
-- returns the smallest number at the head of a queue, '' if all are empty
local least
for _, name in ipairs(redis.call('SMEMBERS', key('sessions'))) do
  local head = redis.pcall('LINDEX', key('queue:' .. name), 0)
  local number = type(head) == 'string' and tonumber(head)
  if number and (not least or number < least) then least = number end
end
return least and string.format('%.0f', least) or ''
