-- Records of the audit trail: changes in one stream, denials in another, with one numbering.
local KEPT_CHANGES, KEPT_DENIALS = 1000000, 100000

local function record(records)
  if #records == 0 then return end
  local counter, changes, denials = key('sequence:audit'), key('audit:changes'), key('audit:denials')
  -- A lost or set back counter must not stop the recording.
  local number = math.max(tonumber(redis.pcall('GET', counter)) or 0, lastOf(changes), lastOf(denials))
  for _, one in ipairs(records) do
    number = number + 1
    redis.call('XADD', one.isDenial and denials or changes, 'MAXLEN', '~', one.isDenial and KEPT_DENIALS or KEPT_CHANGES,
      text(number) .. '-0', 'at', text(one.atMs), 'steady', text(one.steadyMs), 'record', one.text)
  end
  redis.call('SET', counter, text(number))
end
