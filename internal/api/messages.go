package api

import (
	"bytes"

	"github.com/sluice-sale/sluice"
)

// lang is a language that messages are given in.
type lang uint8

const (
	langEN lang = iota
	langZH
	numLangs
)

// String gives the tag for Content-Language.
func (l lang) String() string { return [numLangs]string{"en", "zh-CN"}[l] }

// parseLang reads Accept-Language: the language of ours with the highest weight, the earlier one at a tie, English
// where there is none. It does not allocate.
func parseLang(header []byte) lang {
	best, weight := langEN, 0
	for n := 0; len(header) > 0 && n < 16; n++ {
		var part []byte
		part, header, _ = bytes.Cut(header, []byte(","))
		tag, params, _ := bytes.Cut(bytes.TrimSpace(part), []byte(";"))
		l, ok := langOf(bytes.TrimSpace(tag))
		if q := quality(params); ok && q > weight {
			best, weight = l, q
		}
	}
	return best
}

func langOf(tag []byte) (lang, bool) {
	if len(tag) < 2 || len(tag) > 2 && tag[2] != '-' {
		return langEN, false
	}
	switch {
	case bytes.EqualFold(tag[:2], []byte("en")):
		return langEN, true
	case bytes.EqualFold(tag[:2], []byte("zh")):
		return langZH, true
	}
	return langEN, false
}

// quality reads ";q=0.8" as 800; 1000 where it is absent, 0 where it is broken.
func quality(params []byte) int {
	v, ok := bytes.CutPrefix(bytes.TrimSpace(params), []byte("q="))
	if !ok {
		return 1000
	}
	if len(v) == 0 || v[0] != '0' && v[0] != '1' {
		return 0
	}
	q, unit := int(v[0]-'0')*1000, 100
	if len(v) > 1 && v[1] != '.' {
		return 0
	}
	for _, d := range v[min(len(v), 2):] {
		if d < '0' || d > '9' {
			return 0
		}
		q, unit = q+int(d-'0')*unit, unit/10
	}
	return min(q, 1000)
}

// text is a message in every language.
type text [numLangs]string

// reasonText is what buyers read for each Reason; a test holds it complete.
var reasonText = [sluice.NumReasons]text{
	sluice.ReasonNone:             {"Something went wrong", "出错了"},
	sluice.ReasonClosed:           {"Closed by the organiser; confirmed orders are safe", "主办方已关闭本场；已成功的订单不受影响"},
	sluice.ReasonUnknownCampaign:  {"No such sale; check the link", "活动不存在，请检查链接"},
	sluice.ReasonBlocked:          {"Not available; contact support with the reference", "暂不能参与，请凭编号联系客服"},
	sluice.ReasonUnauthenticated:  {"Sign in to take part", "登录后参与"},
	sluice.ReasonNotStarted:       {"Not open yet", "还没有开始"},
	sluice.ReasonEnded:            {"The sale is over", "活动已结束"},
	sluice.ReasonPaused:           {"Paused; stay here, it goes on when it resumes", "活动暂停，请稍候，恢复后可继续"},
	sluice.ReasonNotEligible:      {"This sale is for invited buyers only", "本场仅限受邀用户参与"},
	sluice.ReasonSoldOut:          {"Sold out", "已抢光"},
	sluice.ReasonTooFrequent:      {"Too fast; wait a moment", "操作太快，请稍后再试"},
	sluice.ReasonPassRequired:     {"Verify first", "请先完成验证"},
	sluice.ReasonPassInvalid:      {"The verification has expired; verify again", "验证已失效，请重新验证"},
	sluice.ReasonSignatureInvalid: {"The request could not be verified", "请求校验未通过"},
	sluice.ReasonBusy:             {"Very busy; try again in a moment", "人太多，请稍后重试"},
	sluice.ReasonLimitReached:     {"You have reached the limit per buyer", "你已达到限购数量"},
	sluice.ReasonQueued:           {"A place is held, not confirmed yet", "已为你占位，尚未成功"},
	sluice.ReasonConfirmed:        {"You got it", "抢到了"},
	sluice.ReasonRequestIDReused:  {"The request id was used for another request", "请求编号已用于其他请求"},
	sluice.ReasonUnavailable:      {"Checking the result; do not order again", "正在核对结果，请勿重复下单"},
	sluice.ReasonDiscarded:        {"Your place could not be confirmed and was given up", "占位未能确认，已被取消"},
	sluice.ReasonLost:             {"Your place was lost in a failure; you may try again", "因系统故障占位丢失，可重新参与"},
}

// codeText is what people read for each problem code that is no Reason; a test holds it complete.
var codeText = map[string]text{
	codeMalformed:       {"The body is not valid JSON", "请求体不是有效的 JSON"},
	codeBadRequest:      {"The request could not be read", "无法识别的请求"},
	codeValidation:      {"Some fields are not valid", "部分字段无效"},
	codeMediaType:       {"The body has to be application/json", "请求体必须是 application/json"},
	codeTooLarge:        {"The body is too large", "请求体过大"},
	codeURITooLong:      {"The address is too long", "请求地址过长"},
	codeHeadersTooLarge: {"The headers are too large", "请求头过大"},
	codeTimeout:         {"The request took too long to arrive", "请求超时"},
	codeNotFound:        {"There is no such thing", "未找到"},
	codeNoDevSignIn:     {"Signing in with any name is off", "任意用户名登录未开启"},
	codeMethod:          {"The method is not allowed here", "不支持的请求方法"},
	codeForbidden:       {"You may not do this", "没有权限"},
	codeOutOfScope:      {"This is outside the scope of your API key", "超出该 API 密钥的权限范围"},
	codeTooManyFailures: {"Too many failed attempts; wait a moment", "失败次数过多，请稍后再试"},
	codeConflict:        {"This is not possible in the present state", "当前状态下不能执行此操作"},
	codeInvalid:         {"The request is not valid", "请求无效"},
	codeUncertain:       {"The outcome is not known; check before trying again", "结果未知，请先核对再重试"},
	codeInternal:        {"Something went wrong on our side", "服务器内部错误"},

	"CHALLENGE_FAILED":      {"That was not right; try again", "验证未通过，请重试"},
	"CHALLENGE_GONE":        {"The verification has expired or was used; ask for a new one", "验证已失效，请重新获取"},
	"NO_CHALLENGES":         {"There is no verification to be had at the moment", "暂时无法进行验证"},
	"PASS_TOO_EARLY":        {"Verification opens ten minutes before the start", "开始前 10 分钟可提前验证"},
	"PASS_KEY_EXISTS":       {"Another node has made this key", "该密钥已由其他节点生成"},
	"TOO_MANY_PASS_KEYS":    {"Too many keys are still needed", "仍在使用的密钥过多"},
	"CAMPAIGN_STATE":        {"The campaign's state does not allow this", "活动当前状态不允许此操作"},
	"ORDER_STATE":           {"The order's state does not allow this", "订单当前状态不允许此操作"},
	"COUPON_STATE":          {"The coupon's state does not allow this", "券当前状态不允许此操作"},
	"COUPON_REDEEMED":       {"The coupon has been used", "该券已核销"},
	"COUPON_REVOKED":        {"The coupon was revoked", "该券已作废"},
	"COUPON_EXPIRED":        {"The coupon has expired", "该券已过期"},
	"COUPON_LOCKED":         {"The coupon is in use by another purchase", "该券已被其他订单占用"},
	"COUPON_NOT_VALID_YET":  {"The coupon is not valid yet", "该券尚未生效"},
	"COUPON_NOT_VALID_HERE": {"The coupon is not valid at this merchant", "该券不适用于本商户"},
	"MIN_SPEND_NOT_MET":     {"The purchase is below the minimum spend", "未达到最低消费金额"},
	"REDEMPTION_REVERSED":   {"This redemption was reversed", "该次核销已撤销"},
	"UNKNOWN_COUPON":        {"There is no such coupon", "券码不存在"},
	"UNKNOWN_ORDER":         {"There is no such order", "订单不存在"},
	"PAYMENT_MISMATCH":      {"Amount or currency do not match the order", "支付金额或币种与订单不符"},
	"REFERENCE_REUSED":      {"The reference was used for something else", "该编号已用于其他请求"},
	"NO_SANDBOX":            {"The sandbox payment is off", "沙箱支付未开启"},
	"READ_ONLY":             {"Changes are paused for the moment", "系统暂时只读，请稍后再试"},

	"CAMPAIGN_EXISTS":  {"There is a campaign with this id already", "活动编号已存在"},
	"CAMPAIGN_CHANGED": {"Somebody else changed the campaign meanwhile", "活动已被他人修改，请刷新后重试"},
	"CHANGE_ID_REUSED": {"The change id was used for another adjustment", "变更编号已用于其他调整"},
	"ADJUSTMENT_PENDING": {
		"Another adjustment of the campaign is under way; try again in a moment", "该活动有调整正在进行，请稍后再试"},
	"DEPOSED":             {"Another node does this now", "该任务已由其他节点接管"},
	"NOT_LOST":            {"The claim may still turn up", "该请求仍可能完成，请稍后再查"},
	"NO_GATES":            {"The permit is in this server's own memory", "本服务器的库存许可仅在内存中"},
	"UNKNOWN_RUN":         {"There is no such comparison", "对账记录不存在"},
	"UNKNOWN_DEAD_LETTER": {"There is no such dead letter", "死信不存在"},
	"STOCK_TAKEN":         {"The units are held or sold already", "库存已被占用或售出"},
	"TOTAL_TOO_LARGE":     {"The total would be too large", "总量超出上限"},
	"BATCH_TOO_LARGE":     {"Too much at once", "单批数量过大"},
	"DATA_IN_USE":         {"The data folder is in use by another server", "数据目录正被其他进程使用"},
	"FILE_EXISTS":         {"There is a file of this name already", "文件已存在"},
	"NOT_IN_FORCE":        {"Recorded, but not in force yet", "已保存，但尚未生效"},
	"UNKNOWN_SWITCH":      {"There is no such switch", "开关不存在"},
	"NO_SETTLER":          {"This server settles nothing from a queue", "本服务器不处理队列结算"},
	"LEDGER_URL":          {"The ledger's URL is wrong", "账本地址不正确"},
	"QUEUE_REFUSED":       {"The broker refuses the settings", "消息队列拒绝了该配置"},
	"QUEUE_TLS":           {"The certificate of the broker is not believed", "消息队列的证书不受信任"},
	"REDIS_TLS":           {"The certificate of Redis is not believed", "Redis 的证书不受信任"},
	"LEDGER_TLS":          {"The certificate of the database is not believed", "数据库的证书不受信任"},
	"QUEUE_TOPOLOGY":      {"The broker has a queue of this name that is another one", "消息队列中已有同名但不同的队列"},
	"NOT_SETTLED":         {"Claims of the campaign are not settled yet", "该活动仍有未落库的请求"},
	"BACKUP_UNSUPPORTED":  {"This ledger is backed up by its database's own tools", "该账本请用数据库自带工具备份"},
	"UNSUPPORTED":         {"This ledger does not know that", "该账本不支持此操作"},
	"UNKNOWN_BLOCK":       {"There is no such block", "封禁记录不存在"},
	"UNKNOWN_ALLOWED":     {"The allowlist has no such entry", "白名单中没有此记录"},
	"BLOCKLIST_FULL":      {"The blocklist is full", "黑名单已满"},
	"ALLOWLIST_FULL":      {"The allowlist is full", "白名单已满"},
	"UNKNOWN_RULE":        {"There is no such risk rule", "风控规则不存在"},
	"UNKNOWN_FIRED":       {"No risk rule did anything under this reference", "没有此编号的风控记录"},
	"RULE_CHANGED":        {"Somebody changed the rule meanwhile", "规则已被他人修改"},
	"RULES_FULL":          {"There are too many risk rules", "风控规则过多"},
	"LIST_GONE":           {"The file of this import is gone", "此次导入的文件已不在"},
	"NO_IMPORT":           {"Nothing can be imported here", "此处不支持导入"},
	"KEY_REVOKED":         {"The API key is revoked", "该 API 密钥已吊销"},
	"UNKNOWN_KEY":         {"There is no such API key", "API 密钥不存在"},
	"NO_SESSION":          {"The call came without a session", "该请求没有会话"},
	"UNKNOWN_JOB":         {"There is no such job", "任务不存在"},
	"TOO_MANY_JOBS":       {"Too many jobs run already", "运行中的任务过多"},
	"NO_PREFLIGHT":        {"The checks have not run yet", "尚未执行开售前检查"},
	"LINK_ENDED":          {"This link does not work, or no longer", "链接无效或已失效"},
	"TOO_MANY_LINKS":      {"Too many links to this report", "该报告的分享链接过多"},
	"UNKNOWN_LINK":        {"There is no such link, or no more", "链接不存在或已撤销"},
	"UNKNOWN_DIFFERENCE":  {"That comparison found nothing about it", "该次对账中没有这条差异"},
	"DRIFT_CHANGED":       {"It is not what was seen any more; nothing was repaired", "现状与所见不符，未做修复"},
	"DRIFT_GONE":          {"Nothing differs here any more; nothing was repaired", "差异已不存在，未做修复"},
	"NO_REPAIR":           {"Nothing repairs this difference", "此差异没有可用的修复"},
	"REPAIR_IS_WHOLE":     {"Its repair is for the whole campaign", "此差异只能随整个活动一并修复"},
	"PREFLIGHT_CHANGED":   {"The checks were run or signed meanwhile", "检查结果已更新或已签字"},
	"NO_REHEARSAL":        {"This server cannot rehearse", "本服务器不支持彩排"},
	"UNKNOWN_SESSION":     {"There is no such session", "会话不存在"},
	"NOT_AN_OPERATOR":     {"This key is not an operator's", "该密钥不属于运营人员"},
	"CSRF_TOKEN":          {"The page is out of date; load it again", "页面已过期，请刷新"},
	"FOREIGN_SITE":        {"The call came from a page of another site", "请求来自其他站点的页面"},
	"BOOTSTRAP_KEY":       {"The key of the settings cannot be revoked here", "配置中的密钥不能在此吊销"},
	"NOT_REDEEMED_BY":     {"The coupon was not redeemed under this reference", "该券未以此编号核销"},
}

// titleOf gives the sentence for a problem code: the reason's where the code is one, the general one of the status
// where nobody has written one for the code.
func titleOf(code string, status int, l lang) string {
	if t, ok := codeText[code]; ok {
		return t[l]
	}
	if r, ok := sluice.ParseReason(code); ok {
		return reasonText[r][l]
	}
	for _, row := range errorStatus() {
		if row.status == status {
			return titleOf(row.code, 0, l)
		}
	}
	return codeText[codeInternal][l]
}
